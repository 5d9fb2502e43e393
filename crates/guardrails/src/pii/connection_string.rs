//! Connection strings with credentials: URLs, and lists of keys and values.

use super::PiiRule;
use super::boundary::run;
use crate::detector::{Occurrence, Verdict};
use crate::kind::PiiKind;

/// The scheme of a URL.
pub const URL_RULE: PiiRule = PiiRule::new(
    PiiKind::ConnectionString,
    r"(?-u:\b)(?i:jdbc:)?(?i:postgres(?:ql)?|mysql2?|mariadb|mongodb|rediss?|valkeys?|amqps?|mssql|sqlserver|oracle|clickhouse|cockroachdb|couchdb|couchbases?|cassandra|neo4j|bolt|ldaps?|smtps?|ftps?|sftp|ssh|nats|kafka|snowflake|trino|db2|hive2?|elasticsearch|opensearch|influxdb|memcached?|mqtts?|https?|wss?)(?:\+[a-z0-9_]{1,12}){0,2}://",
    check_url,
);

/// The first key of a list.
pub const PAIRS_RULE: PiiRule = PiiRule::new(
    PiiKind::ConnectionString,
    r"(?-u:\b)(?i:server|data source|addr|address|network address|host|hostaddr|driver|provider|database|dbname|initial catalog|user id|uid|user|username|defaultendpointsprotocol|accountname|endpoint|port) ?= ?",
    check_pairs,
);

const LONGEST: usize = 2048;
const SECRET_KEYS: [&str; 8] = [
    "password",
    "passwd",
    "pass",
    "pwd",
    "accountkey",
    "sharedaccesskey",
    "sharedaccesssignature",
    "sharedsecretvalue",
];

fn check_url(found: &Occurrence<'_>) -> Verdict {
    let rest = found.rest();
    let (length, is_open) = run(rest, found.is_end(), LONGEST, is_url);
    let authority = rest[..length].find(['/', '?', '#']);
    // A URL of the web is decided when its authority is complete, so that it is not held back.
    let is_web = found.matched().to_ascii_lowercase().starts_with("http");
    if let Some(end) = authority
        && is_web
        && !has_credentials(&rest[..end])
    {
        return Verdict::Invalid;
    }
    if is_open {
        return Verdict::NeedsMore;
    }
    let text = rest[..length].trim_end_matches(['.', ',', ';', ':', '!', '?', ')']);
    let end = text.find(['/', '?', '#']).unwrap_or(text.len());
    // The parameters of SQL Server follow a semicolon; a password may have one, too.
    let end = if text[..end].contains('@') { end } else { text.find(';').map_or(end, |at| at.min(end)) };
    let (authority, query) = text.split_at(end);
    // Hosts may have commas between them; behind them a comma starts the next column of a table, unless a parameter with
    // a secret follows.
    let column = query.match_indices(',').find(|(at, _)| !has_secret_parameter(&query[*at..]));
    let query = column.map_or(query, |(at, _)| &query[..at]);
    let length = found.matched().len() + authority.len() + query.len();
    let has_secret = has_credentials(authority) || !is_web && has_secret_parameter(query);
    if has_secret { found.part(0..length) } else { Verdict::Invalid }
}

/// Whether an authority has a password that is not a placeholder.
fn has_credentials(authority: &str) -> bool {
    let Some((credentials, host)) = authority.rsplit_once('@') else { return false };
    let password = credentials.split_once(':').map(|(_, password)| password);
    !host.is_empty() && password.is_some_and(is_secret)
}

fn has_secret_parameter(query: &str) -> bool {
    query.split(['?', '&', ';']).filter_map(|pair| pair.split_once('=')).any(|(key, value)| {
        ["password", "pwd", "passwd"].contains(&key.to_ascii_lowercase().as_str()) && is_secret(value)
    })
}

/// Whether a value is a secret and not a placeholder for one.
fn is_secret(value: &str) -> bool {
    let is_placeholder = value.starts_with(['$', '{', '<', '[', '%'])
        || value.chars().all(|part| matches!(part, '*' | 'x' | '.'));
    !value.is_empty() && !is_placeholder
}

fn is_url(byte: u8) -> bool {
    byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\'' | b'`' | b'<' | b'>' | b'\\')
}

fn check_pairs(found: &Occurrence<'_>) -> Verdict {
    let text = found.from(0);
    let (length, is_open) = run(text, found.is_end(), LONGEST, |byte| {
        matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\'' | b'`' | b'<' | b'>' | b'\\')
    });
    let pairs = Pairs::read(&text[..length], is_open);
    if pairs.is_open {
        return Verdict::NeedsMore;
    }
    if pairs.count >= 2 && pairs.has_secret { found.part(0..pairs.end) } else { Verdict::Invalid }
}

/// A list of keys and values: `key=value` separated by semicolons, or by spaces.
#[derive(Debug, Default)]
struct Pairs {
    count: usize,
    has_secret: bool,
    end: usize,
    /// Whether the list may continue in text that has not arrived.
    is_open: bool,
}

impl Pairs {
    fn read(text: &str, is_open: bool) -> Self {
        let mut pairs = Self::default();
        // A list with one pair is none, so that the text between the first two keys has to arrive.
        let first = &text[..text.len().min(LONGEST_FIRST_PAIR)];
        let mut parts = first.split('=');
        let (_, value, has_second) = (parts.next(), parts.next().unwrap_or_default(), parts.next().is_some());
        if !has_second {
            pairs.is_open = is_open && first.len() == text.len();
            return pairs;
        }
        let separator = if value.contains(';') { ';' } else { ' ' };
        let mut start = 0;
        while let Some((key, value_start)) = key_at(text, start, separator) {
            let values = &text[value_start..];
            let separated = values.find(separator);
            let value_end = match separated {
                Some(length) => value_start + length,
                None if is_open => {
                    pairs.is_open = true;
                    return pairs;
                }
                // A sentence or the next column of a table may follow the last value.
                None => value_start + values.find([' ', ',']).unwrap_or(values.len()),
            };
            let value = text[value_start..value_end].trim_end().trim_end_matches(['.', ',', ')', ';']);
            pairs.has_secret |= SECRET_KEYS.contains(&key.as_str()) && is_secret(value);
            pairs.count += 1;
            pairs.end = value_start + value.len();
            start = value_end + 1;
            if separated.is_none() {
                return pairs;
            }
        }
        pairs.is_open = is_open && start + LONGEST_KEY > text.len();
        pairs
    }
}

const LONGEST_KEY: usize = 40;
/// Bytes in which the second key must end.
const LONGEST_FIRST_PAIR: usize = 128;

/// The key at a position in lower case without spaces, and the start of its value.
fn key_at(text: &str, start: usize, separator: char) -> Option<(String, usize)> {
    let rest = text.get(start..)?;
    let equals = rest.bytes().take(LONGEST_KEY).position(|byte| byte == b'=')?;
    let key = rest[..equals].trim();
    let is_key = !key.is_empty()
        && key
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b' ' && separator == ';');
    let value_start = start + equals + 1;
    let spaces = text[value_start..].len() - text[value_start..].trim_start_matches(' ').len();
    let name = key
        .bytes()
        .filter(u8::is_ascii_alphanumeric)
        .map(|byte| char::from(byte.to_ascii_lowercase()))
        .collect();
    is_key.then_some((name, value_start + spaces.min(1)))
}
