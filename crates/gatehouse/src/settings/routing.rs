//! Value types of the routing settings.

use pipeline::policy;

use super::value::Value;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FallbackMode(pub policy::FallbackMode);

impl Value for FallbackMode {
    const KIND: &'static str = "off, manual or auto";

    fn parse(text: &str) -> Option<Self> {
        Some(Self(match text.to_ascii_lowercase().as_str() {
            "off" | "false" => policy::FallbackMode::Off,
            "manual" => policy::FallbackMode::Manual,
            "auto" => policy::FallbackMode::Auto,
            _ => return None,
        }))
    }
}

/// Maps a selector to its fallbacks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FallbackRules(pub Vec<(String, Vec<String>)>);

impl Value for FallbackRules {
    const KIND: &'static str = "rules such as gpt-5=azure/gpt-5,claude-sonnet-5;other=another";

    fn parse(text: &str) -> Option<Self> {
        let rule = |text: &str| {
            let (selector, others) = text.split_once('=')?;
            let others: Vec<String> = others.split(',').map(|other| other.trim().to_owned()).collect();
            let complete = !selector.trim().is_empty() && others.iter().all(|other| !other.is_empty());
            complete.then(|| (selector.trim().to_owned(), others))
        };
        let rules = text.split(';').map(str::trim).filter(|rule| !rule.is_empty());
        rules.map(rule).collect::<Option<_>>().map(Self)
    }
}

/// A fraction between 0 and 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Share(pub f64);

impl Value for Share {
    const KIND: &'static str = "a number from 0 to 1, or a percentage such as 5%";

    fn parse(text: &str) -> Option<Self> {
        let share = match text.strip_suffix('%') {
            Some(percent) => percent.trim().parse::<f64>().ok()? / 100.0,
            None => text.parse().ok()?,
        };
        (0.0..=1.0).contains(&share).then_some(Self(share))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_and_shares_are_read_or_refused() {
        let rules = FallbackRules::parse("gpt-5 = azure/gpt-5, b ; c=d;").unwrap().0;
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        assert_eq!(
            rules,
            [("gpt-5".to_owned(), owned(&["azure/gpt-5", "b"])), ("c".to_owned(), owned(&["d"]))]
        );
        for bad in ["gpt-5", "=b", "a=", "a=b,,c"] {
            assert_eq!(FallbackRules::parse(bad), None, "{bad}");
        }
        assert_eq!((Share::parse("5%"), Share::parse("0.05")), (Some(Share(0.05)), Some(Share(0.05))));
        assert_eq!((Share::parse("2"), Share::parse("-1"), Share::parse("x")), (None, None, None));
    }
}
