//! Expands `${VAR}` and `${VAR:-default}` in values of the YAML file; `$${` is a literal `${`.

use std::collections::BTreeMap;

/// Expands the variables of a text. The error is a sentence that names the missing variable.
pub fn expand(text: &str, environment: &BTreeMap<String, String>) -> Result<String, String> {
    let mut expanded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("${") {
        let before = &rest[..start];
        if let Some(literal) = before.strip_suffix('$') {
            expanded.push_str(literal);
            expanded.push_str("${");
            rest = &rest[start + 2..];
            continue;
        }
        let inside = &rest[start + 2..];
        let end = inside.find('}').ok_or("has a '${' without its '}'")?;
        expanded.push_str(before);
        expanded.push_str(&value(&inside[..end], environment)?);
        rest = &inside[end + 1..];
    }
    expanded.push_str(rest);
    Ok(expanded)
}

fn value(reference: &str, environment: &BTreeMap<String, String>) -> Result<String, String> {
    let (name, otherwise) = match reference.split_once(":-") {
        Some((name, otherwise)) => (name, Some(otherwise)),
        None => (reference, None),
    };
    if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
        return Err("has a '${…}' that does not name a variable".to_owned());
    }
    match (environment.get(name).filter(|value| !value.is_empty()), otherwise) {
        (Some(value), _) => Ok(value.clone()),
        (None, Some(otherwise)) => Ok(otherwise.to_owned()),
        (None, None) => {
            Err(format!("needs the variable {name}, which is not set; '${{{name}:-…}}' gives it a default"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Result<&str, &str>) {
        let environment =
            BTreeMap::from([("A".to_owned(), "1".to_owned()), ("EMPTY".to_owned(), String::new())]);
        match (expand(text, &environment), expected) {
            (Ok(text), Ok(expected)) => assert_eq!(text, expected),
            (Err(message), Err(part)) => assert!(message.contains(part), "{message}"),
            (got, _) => panic!("{text}: {got:?}"),
        }
    }

    #[test]
    fn variables_are_expanded() {
        check("plain $A {A}", Ok("plain $A {A}"));
        check("<${A}-${A}>", Ok("<1-1>"));
        check("${MISSING:-http://x:1/y}", Ok("http://x:1/y"));
        check("${EMPTY:-x}${MISSING:-}", Ok("x"));
        check("${A:-x}", Ok("1"));
        check("$${A}", Ok("${A}"));
        check("${MISSING}", Err("MISSING"));
        check("${EMPTY}", Err("EMPTY"));
        check("${A", Err("without"));
        check("${}", Err("does not name"));
        check("${a b}", Err("does not name"));
    }
}
