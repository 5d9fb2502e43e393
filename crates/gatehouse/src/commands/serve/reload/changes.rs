//! The differences between the running and a new configuration.

use crate::settings::{Settings, restart_reason};

#[derive(Debug, Default, PartialEq, Eq)]
pub struct Changes {
    pub live: Vec<&'static str>,
    pub needs_restart: Vec<&'static str>,
    pub providers: bool,
    /// Whether documents of the file differ.
    pub resources: bool,
}

impl Changes {
    pub fn between(old: &Settings, new: &Settings) -> Self {
        let mut changes = Self {
            providers: old.providers != new.providers,
            resources: old.resources != new.resources,
            ..Self::default()
        };
        for origin in &new.sources {
            let path = origin.setting.path;
            let before = old.sources.iter().find(|before| before.setting.path == path);
            if before.is_none_or(|before| before.value == origin.value) {
                continue;
            }
            match restart_reason(path) {
                None => changes.live.push(path),
                Some(_) => changes.needs_restart.push(path),
            }
        }
        changes
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::load_file;
    use super::*;

    #[test]
    fn changes_that_need_a_restart_are_recognized() {
        let old = load_file("server: {port: 9000, master_key: gm_one}\nlog: {level: info}\n");
        let same = load_file("log:\n  level: info\nserver:\n  master_key: gm_one\n  port: 9000\n");
        assert_eq!(Changes::between(&old, &same), Changes::default());
        let new = load_file(
            "server: {port: 9001, master_key: gm_two}\nlog: {level: debug}\nproviders: {openai: {api_key: k}}\n",
        );
        let expected = Changes {
            live: vec!["server.master_key", "log.level"],
            needs_restart: vec!["server.port"],
            providers: true,
            resources: false,
        };
        assert_eq!(Changes::between(&old, &new), expected);
    }
}
