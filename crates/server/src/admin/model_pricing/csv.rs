//! Exports prices as CSV, one line each, with cells that spreadsheets do not evaluate as formulas.

use domain::resources::model_price::{ModelPrice, TierPrice};

pub fn write(prices: &[ModelPrice]) -> String {
    let names = ModelPrice::default().amounts().map(|(name, _)| name);
    let mut text = format!("selector,currency,{},tiers\r\n", names.join(","));
    for price in prices {
        text.push_str(&cell(&price.selector));
        text.push_str(",USD");
        for (_, amount) in price.amounts() {
            text.push(',');
            text.push_str(&amount.map(decimal).unwrap_or_default());
        }
        let tiers = price.tiers.iter().flatten().map(tier).collect::<Vec<_>>().join(" | ");
        text.push(',');
        text.push_str(&cell(&tiers));
        text.push_str("\r\n");
    }
    text
}

fn decimal(amount: f64) -> String {
    format!("{amount}")
}

fn tier(tier: &TierPrice) -> String {
    let amount = |amount: Option<f64>| amount.map_or_else(|| "-".to_owned(), decimal);
    let [input, output, cached] =
        [tier.input_per_mtok, tier.output_per_mtok, tier.cached_input_per_mtok].map(amount);
    format!("above {}: {input} / {output} / {cached}", tier.above_tokens)
}

/// Quotes a cell, with a leading apostrophe if a spreadsheet would evaluate it.
fn cell(text: &str) -> String {
    let formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let mark = if formula { "'" } else { "" };
    if text.is_empty() { String::new() } else { format!("\"{mark}{}\"", text.replace('"', "\"\"")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_neither_formulas_nor_broken() {
        assert_eq!(cell("openai/gpt-5"), "\"openai/gpt-5\"");
        assert_eq!(cell("=cmd|'/c calc'!A1"), "\"'=cmd|'/c calc'!A1\"");
        assert_eq!(cell("@x\"y,z"), "\"'@x\"\"y,z\"");
        assert_eq!(cell(""), "");
        assert_eq!(decimal(0.000_000_015), "0.000000015");
    }
}
