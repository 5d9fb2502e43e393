//! Rules for personal data and secrets: for each kind a pattern, a validator and, where needed, context words.

mod api_key;
mod boundary;
mod calendar;
mod checksum;
mod connection_string;
mod context;
mod credit_card;
mod crypto_address;
mod date_of_birth;
mod email;
mod iban;
mod ip_address;
mod jwt;
mod mac_address;
mod national_id;
mod phone;
mod private_key;
mod ssn;

use std::borrow::Cow;

pub use crate::detector::RuleError;
use crate::detector::{Detector, Occurrence, Rule, Verdict};
use crate::kind::Label;
pub use crate::kind::PiiKind;
pub use api_key::vendors as api_key_vendors;
pub use national_id::countries as national_id_countries;

/// One rule of a kind. A kind may have several.
struct PiiRule {
    kind: PiiKind,
    /// Finds candidates. A value may extend beyond the match.
    pattern: Cow<'static, str>,
    /// Decides about a candidate.
    check: fn(&Occurrence<'_>) -> Verdict,
}

impl PiiRule {
    const fn new(kind: PiiKind, pattern: &'static str, check: fn(&Occurrence<'_>) -> Verdict) -> Self {
        Self { kind, pattern: Cow::Borrowed(pattern), check }
    }
}

/// Compiles the rules of the given kinds.
pub fn detector(kinds: &[PiiKind]) -> Result<Detector, RuleError> {
    let rules: Vec<PiiRule> = all_rules().into_iter().filter(|rule| kinds.contains(&rule.kind)).collect();
    let parse = |rule: &PiiRule| regex_syntax::parse(&rule.pattern).map_err(|_| RuleError);
    let patterns = rules.iter().map(parse).collect::<Result<Vec<_>, _>>()?;
    let checks = rules.iter().map(|rule| Rule { label: Label::Pii(rule.kind), check: rule.check }).collect();
    Detector::build(&patterns, checks).map_err(|_| RuleError)
}

/// All rules in order of priority. Of several values at the same place, the first one counts: kinds with long prefixes
/// and strong checksums stand before those with weak ones.
fn all_rules() -> Vec<PiiRule> {
    let mut rules =
        vec![private_key::RULE, connection_string::URL_RULE, connection_string::PAIRS_RULE, jwt::RULE];
    rules.extend(api_key::rules());
    rules.extend([email::RULE]);
    rules.extend(crypto_address::RULES);
    rules.extend([iban::RULE, credit_card::RULE]);
    rules.extend(national_id::RULES);
    rules.extend([ssn::RULE]);
    rules.extend(mac_address::RULES);
    rules.extend(ip_address::RULES);
    rules.extend(date_of_birth::rules());
    rules.extend(phone::RULES);
    rules
}

#[cfg(test)]
mod tests;
