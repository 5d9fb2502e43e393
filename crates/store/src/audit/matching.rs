//! The filter of audit entries, applied to an entry in memory: it decides as the SQL conditions do.

use super::AuditEntry;
use super::filter::AuditFilter;

impl AuditFilter {
    /// Whether an entry belongs to what the filter selects.
    pub fn matches(&self, entry: &AuditEntry) -> bool {
        let is = |asked: &Option<String>, found: &[&str]| {
            asked.as_deref().is_none_or(|asked| found.contains(&asked))
        };
        let is_some = |asked: &Option<String>, found: &Option<String>| asked.is_none() || asked == found;
        (self.from..self.until).contains(&entry.at)
            && self.status.is_none_or(|status| status == entry.status)
            && self.failed.is_none_or(|failed| failed == has_failed(entry))
            && self.stream.is_none_or(|stream| stream == entry.stream)
            && is(&self.requested_model, &[&entry.requested_model])
            && is(&self.provider, &[&entry.provider, &entry.provider_name])
            && is(&self.method, &[&entry.method])
            && is(&self.path, &[entry.path(), &entry.endpoint])
            && is_some(&self.error_type, &entry.error_type)
            && is_some(&self.auth_key_id, &entry.auth_key_id)
            && is_some(&self.tenant_id, &entry.tenant_id)
            && is_some(&self.session_id, &entry.session_id)
            && self.user_path.as_deref().is_none_or(|path| is_below(&entry.user_path, path))
            && self.search.as_deref().is_none_or(|text| mentions(entry, text))
    }
}

/// A stream that broke off has an error type, although its status is 200.
fn has_failed(entry: &AuditEntry) -> bool {
    entry.status >= 400 || entry.error_type.is_some()
}

fn is_below(path: &str, above: &str) -> bool {
    let rest = path.strip_prefix(above.trim_end_matches('/'));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn mentions(entry: &AuditEntry, text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    let fields: [&str; 9] = [
        &entry.request_id,
        &entry.requested_model,
        &entry.model,
        &entry.provider,
        &entry.provider_name,
        &entry.method,
        entry.path(),
        entry.error_type.as_deref().unwrap_or_default(),
        entry.error_message.as_deref().unwrap_or_default(),
    ];
    fields.iter().any(|field| field.to_ascii_lowercase().contains(&text))
}
