//! Parses model names: the script, optionally preceded by a model family and `~`, whose generation determines the
//! rules, and followed by `@` and an arbitrary suffix.

#[cfg(test)]
mod tests;

use super::fault_script::ParsedScript;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ModelName {
    pub whole: String,
    /// A name outside the fault script language is `text`.
    pub script: ParsedScript,
    /// The part before the `~`.
    pub family: Option<String>,
}

/// A generation of Claude.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Claude {
    pub opus: bool,
    pub version: (u32, u32),
}

impl ModelName {
    pub fn parse(name: &str) -> Self {
        let (family, script) = match name.split_once('~') {
            Some((family, script)) => (Some(family.to_owned()), script),
            None => (None, name),
        };
        let script = script.split_once('@').map_or(script, |(script, _)| script);
        Self { whole: name.to_owned(), script: ParsedScript::parse(script).unwrap_or_default(), family }
    }

    /// Whether validation is strict; the chat format is lenient for plain names.
    pub fn is_strict(&self) -> bool {
        self.family.is_some() || self.script.is_strict()
    }

    fn family(&self) -> &str {
        self.family.as_deref().unwrap_or_default()
    }

    /// OpenAI's reasoning models: gpt-5 and the o series.
    pub fn is_reasoning(&self) -> bool {
        let family = self.family();
        let o_series =
            family.strip_prefix('o').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
        family.starts_with("gpt-5") || o_series
    }

    pub fn is_before_reasoning(&self) -> bool {
        self.family().starts_with("gpt-4") || self.family().starts_with("gpt-3")
    }

    /// Whether it is one of OpenAI's models; other families have extensions of the format.
    pub fn is_openai(&self) -> bool {
        self.family.is_none() || self.family().starts_with("gpt-") || self.is_reasoning()
    }

    /// The Claude generation; without a family 4.5, which accepts most parameters.
    pub fn claude(&self) -> Claude {
        let family = self.family();
        let small = |part: &&str| part.len() <= 2 && part.chars().all(|c| c.is_ascii_digit());
        let mut parts = family.split(['-', '.', '@']).skip_while(|part| !small(part));
        let mut number = || parts.next().filter(small).and_then(|part| part.parse().ok());
        let version = match number() {
            Some(major) => (major, number().unwrap_or(0)),
            None => (4, 5),
        };
        Claude { opus: family.contains("opus"), version }
    }

    pub fn is_gemini_3(&self) -> bool {
        self.family().starts_with("gemini-3")
    }

    pub fn is_gemini_2(&self) -> bool {
        self.family().starts_with("gemini-2")
    }
}

impl Claude {
    /// Whether the model accepts no sampling parameters and only adaptive thinking, with its text omitted by default.
    pub fn is_adaptive_only(self) -> bool {
        self.version >= (4, 7)
    }

    pub fn takes_system_turns(self) -> bool {
        self.version >= (4, 8)
    }

    pub fn takes_prefill(self) -> bool {
        self.version < (4, 6)
    }

    pub fn takes_adaptive(self) -> bool {
        self.version >= (4, 6)
    }

    pub fn thinks(self) -> bool {
        self.version >= (3, 7)
    }

    pub fn takes_effort(self) -> bool {
        self.version >= (4, 6) || (self.opus && self.version >= (4, 5))
    }

    pub fn takes_schema(self) -> bool {
        self.version >= (4, 5) || (self.opus && self.version >= (4, 1))
    }

    pub fn takes_temperature_with_top_p(self) -> bool {
        self.version < (4, 1)
    }

    pub fn most_output(self) -> u64 {
        match self.version {
            (0..=2, _) | (3, 0..=4) => 4_096,
            (3, 5 | 6) => 8_192,
            (4, 0 | 1) if self.opus => 32_000,
            version if version < (4, 6) => 64_000,
            _ => 128_000,
        }
    }
}
