//! Provider instances from the YAML file and from environment variables such as `<TYPE>[_SUFFIX]_API_KEY`.

use std::collections::BTreeMap;

use domain::resources::Resource as _;
use domain::resources::provider::{Provider, ProviderSource, Resilience};
use domain::secret::Secret;

use super::fault::SettingsFault;
use super::file::{Given, ProviderEntry};
use super::nearest;
use super::value::{Value, is_http_url};

/// Suffixes of provider variables, and the fields they set.
pub const ENVIRONMENT_FIELDS: [(&str, &str); 4] = [
    ("_API_KEY", "api_key"),
    ("_BASE_URL", "base_url"),
    ("_MODELS", "models"),
    ("_API_VERSION", "api_version"),
];

type Instances = BTreeMap<String, (Provider, ProviderSource)>;

/// Collects all instances, sorted by name. The environment completes and overrides an instance of the file with the
/// same name and type.
pub fn gather(
    written: Vec<ProviderEntry>,
    environment: &BTreeMap<String, String>,
    vendor_names: &[&str],
    warnings: &mut Vec<String>,
    faults: &mut Vec<SettingsFault>,
) -> Vec<(Provider, ProviderSource)> {
    let mut instances = Instances::new();
    for entry in written {
        let provider = from_file(entry, vendor_names, faults);
        instances.insert(provider.name.clone(), (provider, ProviderSource::Config));
    }
    for (name, instance) in group(environment, vendor_names) {
        overlay(&mut instances, name, instance, warnings, faults);
    }
    instances.into_values().collect()
}

/// The variables of one instance, by the field they set.
struct FromEnvironment<'a> {
    provider_type: &'a str,
    variables: BTreeMap<&'static str, (&'a str, &'a str)>,
}

fn group<'a>(
    environment: &'a BTreeMap<String, String>,
    vendor_names: &[&'a str],
) -> BTreeMap<String, FromEnvironment<'a>> {
    let mut instances = BTreeMap::new();
    for (variable, value) in environment.iter().filter(|(_, value)| !value.trim().is_empty()) {
        let Some((provider_type, suffix, field)) = parse_name(variable, vendor_names) else { continue };
        let name = match suffix {
            "" => provider_type.to_owned(),
            suffix => format!("{provider_type}-{}", suffix.to_ascii_lowercase().replace('_', "-")),
        };
        let instance = instances
            .entry(name)
            .or_insert_with(|| FromEnvironment { provider_type, variables: BTreeMap::new() });
        instance.variables.insert(field, (variable, value.trim()));
    }
    instances
}

/// Whether a variable sets the key of an instance.
pub fn is_key_variable(variable: &str, vendor_names: &[&str]) -> bool {
    parse_name(variable, vendor_names).is_some_and(|(.., field)| field == "api_key")
}

/// Splits a variable's name into type, suffix and field. The longest type wins: OPENAI_COMPATIBLE_API_KEY is not an
/// instance `compatible` of openai.
fn parse_name<'a, 'b>(
    variable: &'b str,
    vendor_names: &[&'a str],
) -> Option<(&'a str, &'b str, &'static str)> {
    let (instance, field) = ENVIRONMENT_FIELDS
        .into_iter()
        .find_map(|(ending, field)| Some((variable.strip_suffix(ending)?, field)))?;
    let suffix = |vendor: &str| -> Option<&'b str> {
        let rest = instance.strip_prefix(&vendor.to_ascii_uppercase())?;
        if rest.is_empty() { Some(rest) } else { rest.strip_prefix('_').filter(|suffix| !suffix.is_empty()) }
    };
    vendor_names
        .iter()
        .filter_map(|vendor| Some((*vendor, suffix(vendor)?, field)))
        .max_by_key(|(vendor, ..)| vendor.len())
}

/// Applies the variables of an instance. A new instance needs a key or an address, because other programs have
/// variables such as OLLAMA_MODELS.
fn overlay(
    instances: &mut Instances,
    name: String,
    found: FromEnvironment<'_>,
    warnings: &mut Vec<String>,
    faults: &mut Vec<SettingsFault>,
) {
    let variables: Vec<&str> = found.variables.values().map(|(variable, _)| *variable).collect();
    let (mut provider, source) = match instances.remove(&name) {
        Some((provider, source)) if provider.provider_type != found.provider_type => {
            let message = format!(
                "sets the instance '{name}' of type {}, but the file has an instance of that name and type {}",
                found.provider_type, provider.provider_type
            );
            faults.push(SettingsFault::new(variables.join(", "), message));
            instances.insert(name, (provider, source));
            return;
        }
        Some((provider, _)) => (provider, ProviderSource::Env),
        None if ["api_key", "base_url"].iter().any(|field| found.variables.contains_key(field)) => {
            (empty(&name, found.provider_type), ProviderSource::Env)
        }
        None => {
            let needed = variables.first().and_then(|variable| parse_name(variable, &[found.provider_type]));
            let suffix = needed.map(|(_, suffix, _)| suffix).filter(|suffix| !suffix.is_empty());
            let start = suffix.map_or(String::new(), |suffix| format!("_{suffix}"));
            let start = format!("{}{start}", found.provider_type.to_ascii_uppercase());
            warnings.push(format!(
                "{} has no effect without {start}_API_KEY or {start}_BASE_URL",
                variables.join(", ")
            ));
            return;
        }
    };
    for (field, (variable, value)) in found.variables {
        if let Err(message) = set(&mut provider, field, value) {
            faults.push(SettingsFault::new(format!("{variable}:"), quoted(field, value, message)));
        }
    }
    if let Err(fault) = provider.validate() {
        faults.push(SettingsFault::new(variables.join(", "), format!("is not valid: {}", fault.message)));
    }
    instances.insert(name, (provider, source));
}

/// Builds an instance from the file. Its type defaults to its name, as in `openai:`.
fn from_file(entry: ProviderEntry, vendor_names: &[&str], faults: &mut Vec<SettingsFault>) -> Provider {
    let ProviderEntry { name, file, place, mut fields, headers } = entry;
    let given_type = fields.remove("type");
    let provider_type = given_type.as_ref().map_or(name.clone(), |given| given.text.clone());
    let mut report = |field: &str, place, message: String| {
        let key =
            if field.is_empty() { format!("providers.{name}") } else { format!("providers.{name}.{field}:") };
        faults.push(SettingsFault::new(key, message).in_file(&file).at(Some(place)));
    };
    if !vendor_names.contains(&provider_type.as_str()) {
        let place = given_type.as_ref().map_or(place, |given| given.place);
        report("type", place, unknown_type(&provider_type, given_type.as_ref(), vendor_names));
    }
    let mut provider = Provider { headers, ..empty(&name, &provider_type) };
    for (field, Given { text, raw, place, .. }) in fields {
        if let Err(message) = set(&mut provider, field, &text) {
            report(field, place, quoted(field, &raw, message));
        }
    }
    if let Err(fault) = provider.validate() {
        report("", place, format!("is not valid: {}", fault.message));
    }
    provider
}

fn unknown_type(provider_type: &str, given: Option<&Given>, vendor_names: &[&str]) -> String {
    let nearest = nearest::among(provider_type, vendor_names.iter().copied());
    let hint = nearest.map_or(format!("; known are {}", vendor_names.join(", ")), |nearest| {
        format!("; did you mean {nearest}?")
    });
    match given {
        Some(given) => format!("'{}' is not a provider type{hint}", given.raw),
        None => format!("is missing, and '{provider_type}' is not a provider type itself{hint}"),
    }
}

fn empty(name: &str, provider_type: &str) -> Provider {
    Provider {
        name: name.to_owned(),
        provider_type: provider_type.to_owned(),
        api_key: None,
        base_url: String::new(),
        api_version: String::new(),
        models: Vec::new(),
        headers: BTreeMap::new(),
        enabled: true,
        priority: 0,
        resilience: Default::default(),
    }
}

fn set(provider: &mut Provider, field: &str, value: &str) -> Result<(), &'static str> {
    match field {
        "api_key" => provider.api_key = Some(Secret::new(value)).filter(|_| !value.is_empty()),
        "base_url" if value.is_empty() || is_http_url(value) => value.clone_into(&mut provider.base_url),
        "base_url" => return Err("is not an address that begins with http:// or https://"),
        "api_version" => value.clone_into(&mut provider.api_version),
        "models" => provider.models = Vec::<String>::parse(value).unwrap_or_default(),
        "enabled" => provider.enabled = bool::parse(value).ok_or("is not true or false")?,
        "priority" => provider.priority = value.parse().map_err(|_| "is not a whole number")?,
        _ => match field.strip_prefix("resilience.") {
            Some(limit) => set_limit(&mut provider.resilience, limit, value)?,
            None => return Err("cannot be set here"),
        },
    }
    Ok(())
}

/// Sets a resilience limit. Its bounds are validated with the whole document.
fn set_limit(limits: &mut Resilience, field: &str, value: &str) -> Result<(), &'static str> {
    let count = || value.parse::<u32>().map(Some).map_err(|_| "is not a whole number");
    let time = || value.parse::<u64>().map(Some).map_err(|_| "is not a whole number of milliseconds");
    match field {
        "connect_timeout_ms" => limits.connect_timeout_ms = time()?,
        "first_byte_timeout_ms" => limits.first_byte_timeout_ms = time()?,
        "idle_timeout_ms" => limits.idle_timeout_ms = time()?,
        "total_timeout_ms" => limits.total_timeout_ms = time()?,
        "max_retries" => limits.max_retries = count()?,
        "breaker_failures" => limits.breaker_failures = count()?,
        "breaker_open_ms" => limits.breaker_open_ms = time()?,
        "http2" => limits.http2 = Some(bool::parse(value).ok_or("is not on or off")?),
        _ => return Err("cannot be set here"),
    }
    Ok(())
}

/// Formats a message about a value. Keys are never quoted, nor a URL that may contain a password.
fn quoted(field: &str, raw: &str, message: &str) -> String {
    let secret = field == "api_key" || raw.contains('@');
    if secret { format!("the value {message}") } else { format!("'{raw}' {message}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    const VENDORS: [&str; 4] = ["openai", "openai_compatible", "ollama", "azure"];

    #[test]
    fn names_of_variables() {
        for (variable, expected) in [
            ("OPENAI_API_KEY", Some(("openai", "", "api_key"))),
            ("OPENAI_EAST_API_KEY", Some(("openai", "EAST", "api_key"))),
            ("OPENAI_EU_WEST_MODELS", Some(("openai", "EU_WEST", "models"))),
            ("OPENAI_COMPATIBLE_API_KEY", Some(("openai_compatible", "", "api_key"))),
            ("OPENAI_COMPATIBLE_LAB_BASE_URL", Some(("openai_compatible", "LAB", "base_url"))),
            ("AZURE_API_VERSION", Some(("azure", "", "api_version"))),
            ("OPENAI__API_KEY", None),
            ("OPENAIX_API_KEY", None),
            ("GITHUB_API_KEY", None),
            ("OPENAI_ORGANIZATION", None),
            ("_API_KEY", None),
        ] {
            assert_eq!(parse_name(variable, &VENDORS), expected, "{variable}");
        }
    }
}
