//! Scores texts with the rules against prompt injection: `injection_figures < LINES`, for the suite `injection`.
//!
//! Each line is a JSON list of a text and the probability of the classifier, or null. Prints a JSON list for each line:
//! the score, the lowest sensitivity that it reaches, or null, and the names of the rules that matched.

use std::error::Error;
use std::io::{self, BufRead as _, Write as _};

use guardrails::injection::{InjectionRules, Sensitivity, combine};

const SENSITIVITIES: [(&str, Sensitivity); 3] =
    [("low", Sensitivity::Low), ("medium", Sensitivity::Medium), ("high", Sensitivity::High)];

fn main() -> Result<(), Box<dyn Error>> {
    let rules = InjectionRules::new()?;
    let mut out = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        let (text, classifier): (String, Option<f32>) = serde_json::from_str(&line?)?;
        let found = rules.assess(&text);
        let score = combine(found.score, classifier);
        let reached = SENSITIVITIES.iter().find(|(_, sensitivity)| sensitivity.is_reached(score));
        let result = (score, reached.map(|(name, _)| name), found.rules);
        writeln!(out, "{}", serde_json::to_string(&result)?)?;
    }
    Ok(())
}
