//! Reads each setting from the layer with the highest precedence and records its origin.

use std::collections::BTreeMap;

use domain::resources::setting_values::SettingValues;
use domain::secret::Secret;

use super::fault::SettingsFault;
use super::file::Given;
use super::value::Value;
use super::{Setting, SettingOrigin, SettingSource, TABLE};

pub type Check<T> = fn(&T) -> Result<(), &'static str>;

pub struct Reader<'a> {
    file: BTreeMap<&'static str, Given>,
    /// The values of the admin API.
    stored: &'a SettingValues,
    environment: &'a BTreeMap<String, String>,
    /// The origin of each variable that is not in the environment of the process.
    locations: &'a BTreeMap<String, String>,
    pub faults: Vec<SettingsFault>,
    pub origins: Vec<SettingOrigin>,
}

/// An unparsed value.
struct Candidate {
    source: SettingSource,
    location: String,
    text: String,
    given: Option<Given>,
}

impl<'a> Reader<'a> {
    pub fn new(
        file: BTreeMap<&'static str, Given>,
        stored: &'a SettingValues,
        environment: &'a BTreeMap<String, String>,
        locations: &'a BTreeMap<String, String>,
        faults: Vec<SettingsFault>,
    ) -> Self {
        Self { file, stored, environment, locations, faults, origins: Vec::new() }
    }

    /// Reads a setting. An invalid value is reported and replaced by the default, so that all faults are found.
    pub fn take<T: Value>(&mut self, path: &str, checks: &[Check<T>]) -> T {
        let Some(setting) = TABLE.iter().find(|setting| setting.path == path) else { return T::default() };
        let candidate = self.candidate(setting);
        let judged = match T::parse(&candidate.text) {
            Some(value) => match checks.iter().try_for_each(|check| check(&value)) {
                Ok(()) => Ok(value),
                Err(message) => Err(message.to_owned()),
            },
            None => Err(format!("is not {}", T::KIND)),
        };
        self.origins.push(origin(setting, &candidate));
        judged.unwrap_or_else(|message| {
            self.faults.push(fault(setting, &candidate, &message));
            T::parse(setting.default).unwrap_or_default()
        })
    }

    fn candidate(&mut self, setting: &Setting) -> Candidate {
        let given = self.file.remove(setting.path);
        if let Some((variable, text)) = from_environment(setting, self.environment) {
            let location = self.locations.get(&variable).map_or("environment", String::as_str).to_owned();
            return Candidate { source: SettingSource::Env, location, text: text.to_owned(), given: None };
        }
        if let Some(text) = self.stored.get(setting.path) {
            let location = "admin API".to_owned();
            return Candidate { source: SettingSource::Admin, location, text: text.to_owned(), given: None };
        }
        match given {
            Some(given) => Candidate {
                source: SettingSource::File,
                location: given.file.display().to_string(),
                text: given.text.clone(),
                given: Some(given),
            },
            None => Candidate {
                source: SettingSource::Default,
                location: "default".to_owned(),
                text: setting.default.to_owned(),
                given: None,
            },
        }
    }
}

/// The variable that sets a setting, and its value. An empty variable counts as not set. Proxy variables are also read
/// in lower case, as is customary.
fn from_environment<'a>(
    setting: &Setting,
    environment: &'a BTreeMap<String, String>,
) -> Option<(String, &'a str)> {
    let get = |name: String| {
        let value = environment.get(&name).map(|value| value.trim()).filter(|value| !value.is_empty())?;
        Some((name, value))
    };
    get(setting.env.to_owned()).or_else(|| {
        let customary = setting.env.ends_with("_PROXY");
        customary.then(|| get(setting.env.to_ascii_lowercase()))?
    })
}

fn origin(setting: &'static Setting, candidate: &Candidate) -> SettingOrigin {
    let shown = if setting.secret && !candidate.text.is_empty() { "***" } else { candidate.quotable() };
    SettingOrigin {
        setting,
        source: candidate.source,
        location: candidate.location.clone(),
        shown: shown.to_owned(),
        value: Secret::new(candidate.text.as_str()),
    }
}

fn fault(setting: &Setting, candidate: &Candidate, message: &str) -> SettingsFault {
    let key = format!("{} ({}):", setting.path, setting.env);
    let subject = if setting.secret { "the value".to_owned() } else { format!("'{}'", candidate.quotable()) };
    let fault = SettingsFault::new(key, format!("{subject} {message}"));
    match &candidate.given {
        Some(given) => fault.in_file(&given.file).at(Some(given.place)),
        None => fault,
    }
}

impl Candidate {
    /// The text before variables were expanded, because they may contain secrets.
    fn quotable(&self) -> &str {
        self.given.as_ref().map_or(&self.text, |given| &given.raw)
    }
}
