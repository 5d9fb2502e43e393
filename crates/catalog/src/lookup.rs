//! Looks up model facts by ids that may carry a date, a variant suffix or another vendor's prefix.

use domain::model::ModelFacts;

use crate::table::{self, ProviderKind, Row};

/// The facts of a model: looked up by the exact id, then without its date or `-latest`, then at the vendor of the
/// model.
///
/// Prices are never taken from another provider, except for resellers: the unlisted models of a host and all
/// self-hosted models are unpriced.
pub fn facts(provider_type: &str, model: &str) -> Option<&'static ModelFacts> {
    if let Some(row) = find(provider_type, model) {
        return Some(&row.facts);
    }
    match table::kind(provider_type) {
        ProviderKind::Vendor => None,
        ProviderKind::Reseller => resold(provider_type, model).map(|row| &row.facts),
        ProviderKind::Host => at_vendor(model).or_else(|| anywhere(model)).map(Row::unpriced),
        ProviderKind::SelfHosted => anywhere(model).map(Row::unpriced),
    }
}

/// Every model listed for a provider type, by id.
pub fn models(provider_type: &str) -> impl Iterator<Item = (&'static str, &'static ModelFacts)> {
    table::rows(provider_type).iter().map(|row| (row.model, &row.facts))
}

fn find(provider_type: &str, model: &str) -> Option<&'static Row> {
    let rows = table::rows(provider_type);
    let undated = undated(model);
    exact(rows, model).or_else(|| exact(rows, undated)).or_else(|| newest(rows, undated))
}

fn exact(rows: &'static [Row], model: &str) -> Option<&'static Row> {
    rows.binary_search_by(|row| row.model.cmp(model)).ok().map(|index| &rows[index])
}

/// The latest dated version of a model that is listed only with dates.
fn newest(rows: &'static [Row], undated_model: &str) -> Option<&'static Row> {
    let start = rows.partition_point(|row| row.model < undated_model);
    let editions = rows[start..].iter().take_while(|row| row.model.starts_with(undated_model));
    editions.filter(|row| undated(row.model) == undated_model).last()
}

/// The row of a resold model. A variant such as `:online` or `:nitro` has the price of the base model; `:free` is a
/// separate offer and is not resolved.
fn resold(provider_type: &str, model: &str) -> Option<&'static Row> {
    let plain = match model.rsplit_once(':') {
        Some((_, "free")) => return None,
        Some((plain, _)) => plain,
        None => model,
    };
    find(provider_type, plain).or_else(|| at_vendor(plain))
}

fn at_vendor(model: &str) -> Option<&'static Row> {
    match model.split_once('/') {
        Some((prefix, bare)) => find(table::vendor_of_prefix(prefix)?, bare),
        None => first_vendor_with(model),
    }
}

fn first_vendor_with(model: &str) -> Option<&'static Row> {
    let undated = undated(model);
    table::vendors().map(table::rows).find_map(|rows| exact(rows, model).or_else(|| exact(rows, undated)))
}

/// Finds a row by the bare id at any provider, ignoring case; `gpt-oss:20b` matches `gpt-oss-20b`.
fn anywhere(model: &str) -> Option<&'static Row> {
    let bare = table::bare(model).replace(':', "-");
    (!bare.is_empty()).then(|| table::first_with_bare_id(&bare))?
}

/// Drops `-latest`, `@default` and dates such as `-20250514`, `-2024-08-06`, `@20240620`.
fn undated(model: &str) -> &str {
    if let Some(undated) = model.strip_suffix("-latest").or_else(|| model.strip_suffix("@default")) {
        return undated;
    }
    let is_date = |text: &str, pattern: &str| {
        text.len() == pattern.len()
            && text.bytes().zip(pattern.bytes()).all(|(byte, wanted)| match wanted {
                b'9' => byte.is_ascii_digit(),
                _ => byte == wanted,
            })
    };
    for pattern in ["-20999999", "@20999999", "-2099-99-99"] {
        let cut = model.len().saturating_sub(pattern.len());
        // In a pattern, every `9` stands for any digit; all other characters match themselves.
        if model.is_char_boundary(cut) && cut > 0 && is_date(&model[cut..], pattern) {
            return &model[..cut];
        }
    }
    model
}

#[cfg(test)]
mod tests;
