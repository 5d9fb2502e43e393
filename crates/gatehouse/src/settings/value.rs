//! Value types of settings, their parsers and checks.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use domain::secret::Secret;
use ipnet::IpNet;
use pipeline::services::traces;
use pipeline::services::webhooks::WebhookEvent;
use redis_client::Redis;

pub trait Value: Sized + Default {
    /// Description of valid values, as a noun that follows "is not".
    const KIND: &'static str;
    const SECRET: bool = false;
    /// Whether the value in the YAML file is a list of maps; its text is then JSON.
    const STRUCTURED: bool = false;

    fn parse(text: &str) -> Option<Self>;
}

/// An empty value is `None`.
impl<T: Value> Value for Option<T> {
    const KIND: &'static str = T::KIND;
    const SECRET: bool = T::SECRET;

    fn parse(text: &str) -> Option<Self> {
        if text.is_empty() { Some(None) } else { T::parse(text).map(Some) }
    }
}

impl Value for String {
    const KIND: &'static str = "text";

    fn parse(text: &str) -> Option<Self> {
        (!text.is_empty()).then(|| text.to_owned())
    }
}

impl Value for PathBuf {
    const KIND: &'static str = "a path";

    fn parse(text: &str) -> Option<Self> {
        (!text.is_empty()).then(|| Self::from(text))
    }
}

impl Value for bool {
    const KIND: &'static str = "true or false";

    fn parse(text: &str) -> Option<Self> {
        match text.to_ascii_lowercase().as_str() {
            "true" | "yes" | "on" | "1" => Some(true),
            "false" | "no" | "off" | "0" => Some(false),
            _ => None,
        }
    }
}

impl Value for u16 {
    const KIND: &'static str = "a whole number from 0 to 65535";

    fn parse(text: &str) -> Option<Self> {
        text.parse().ok()
    }
}

impl Value for u32 {
    const KIND: &'static str = "a whole number";

    fn parse(text: &str) -> Option<Self> {
        text.parse().ok()
    }
}

/// A number without a unit is in seconds.
impl Value for Duration {
    const KIND: &'static str = "a duration such as 30, 30s, 250ms, 5m or 1h";

    fn parse(text: &str) -> Option<Self> {
        let (number, unit) = split_unit(text)?;
        let millis = match unit {
            "ms" => 1,
            "" | "s" => 1_000,
            "m" => 60_000,
            "h" => 3_600_000,
            "d" => 86_400_000,
            _ => return None,
        };
        number.checked_mul(millis).map(Self::from_millis)
    }
}

/// A number of bytes; K, M and G are powers of 1024.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ByteSize(pub u64);

impl Value for ByteSize {
    const KIND: &'static str = "a size such as 512K, 10M or 1G";

    fn parse(text: &str) -> Option<Self> {
        let (number, unit) = split_unit(text)?;
        let factor = match unit.to_ascii_uppercase().as_str() {
            "" | "B" => 1,
            "K" | "KB" | "KIB" => 1 << 10,
            "M" | "MB" | "MIB" => 1 << 20,
            "G" | "GB" | "GIB" => 1 << 30,
            _ => return None,
        };
        number.checked_mul(factor).map(Self)
    }
}

fn split_unit(text: &str) -> Option<(u64, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    Some((text[..end].parse().ok()?, text[end..].trim_start()))
}

impl Value for Vec<String> {
    const KIND: &'static str = "a list, or text separated by commas";

    fn parse(text: &str) -> Option<Self> {
        Some(text.split(',').map(str::trim).filter(|item| !item.is_empty()).map(str::to_owned).collect())
    }
}

/// A URL path with a leading slash and without a trailing one, unless it is `/`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UrlPath(pub String);

impl Default for UrlPath {
    fn default() -> Self {
        Self("/".to_owned())
    }
}

impl Value for UrlPath {
    const KIND: &'static str = "a path such as /gateway";

    fn parse(text: &str) -> Option<Self> {
        let fits = |c: char| c.is_ascii_alphanumeric() || "-._~/".contains(c);
        let path = text.trim_end_matches('/');
        let whole = (path.is_empty() || path.starts_with('/')) && !text.is_empty();
        let clean =
            path.chars().all(fits) && !path.contains("//") && !path.split('/').any(|part| part == "..");
        (whole && clean).then(|| Self(if path.is_empty() { "/".to_owned() } else { path.to_owned() }))
    }
}

/// The key that encrypts stored credentials.
#[derive(Clone, PartialEq, Eq)]
pub struct EncryptionKey([u8; 32]);

impl EncryptionKey {
    pub fn bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl std::fmt::Debug for EncryptionKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("***")
    }
}

impl Value for Option<EncryptionKey> {
    const KIND: &'static str = "32 bytes in hex or base64";
    const SECRET: bool = true;

    fn parse(text: &str) -> Option<Self> {
        if text.is_empty() {
            return Some(None);
        }
        let bytes = if text.len() == 64 { hex(text) } else { base64_bytes(text) };
        Some(Some(EncryptionKey(bytes?.try_into().ok()?)))
    }
}

fn hex(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let pair = |pair: &[u8]| u8::try_from(digit(pair[0])? * 16 + digit(pair[1])?).ok();
    text.as_bytes().chunks_exact(2).map(pair).collect()
}

fn base64_bytes(text: &str) -> Option<Vec<u8>> {
    STANDARD.decode(text).or_else(|_| URL_SAFE_NO_PAD.decode(text.trim_end_matches('='))).ok()
}

impl Value for Option<Secret> {
    const KIND: &'static str = "text";
    const SECRET: bool = true;

    fn parse(text: &str) -> Option<Self> {
        Some((!text.is_empty()).then(|| Secret::new(text)))
    }
}

/// Declares an enum that is written as one of several words; the first variant is the default.
macro_rules! choice {
    ($(#[doc = $doc:literal])+ $name:ident, $kind:literal, $first:ident = $($first_text:literal)|+ $(, $variant:ident = $($text:literal)|+)+) => {
        $(#[doc = $doc])+
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub enum $name { #[default] $first, $($variant),+ }

        impl Value for $name {
            const KIND: &'static str = $kind;

            fn parse(text: &str) -> Option<Self> {
                match text.to_ascii_lowercase().as_str() {
                    $($first_text)|+ => Some(Self::$first),
                    $($($text)|+ => Some(Self::$variant),)+
                    _ => None,
                }
            }
        }
    };
}

choice! {
    /// The storage backend.
    StorageType, "sqlite or postgres", Sqlite = "sqlite", Postgres = "postgres" | "postgresql"
}

choice! {
    /// The format of log lines.
    LogFormat, "text or json", Text = "text", Json = "json"
}

choice! {
    /// The licensed edition.
    Edition, "oss or enterprise", Oss = "oss", Enterprise = "enterprise"
}

choice! {
    /// Availability of the built-in demo provider.
    Demo, "auto, true or false", Auto = "auto", On = "true" | "yes" | "on" | "1", Off = "false" | "no" | "off" | "0"
}

choice! {
    /// Policy for models without a price.
    UnpricedPolicy, "allow or deny", Allow = "allow", Deny = "deny"
}

choice! {
    /// Policy for passthrough work that cannot be metered while a budget applies.
    PassthroughUnmetered, "allow or deny", Allow = "allow", Deny = "deny"
}

choice! {
    /// Behaviour while current spending is unknown.
    FailMode, "open or closed", Open = "open", Closed = "closed"
}

pub(super) type Verdict = Result<(), &'static str>;

pub(super) fn require(holds: bool, otherwise: &'static str) -> Verdict {
    if holds { Ok(()) } else { Err(otherwise) }
}

pub fn between(number: u64, min: u64, max: u64, otherwise: &'static str) -> Verdict {
    require((min..=max).contains(&number), otherwise)
}

pub fn above_zero(number: f64) -> Verdict {
    require(number > 0.0, "must be above 0")
}

pub fn positive(duration: &Duration) -> Verdict {
    require(!duration.is_zero(), "must be longer than 0")
}

/// Parses an address, or a range in CIDR notation.
pub fn network(text: &str) -> Option<IpNet> {
    text.parse().ok().or_else(|| Some(IpNet::from(text.parse::<IpAddr>().ok()?)))
}

pub fn networks(list: &[String]) -> Verdict {
    let valid = list.iter().all(|text| network(text).is_some());
    require(valid, "must be addresses or CIDR ranges such as 10.0.0.0/8 or 192.0.2.7")
}

pub fn host(host: &str) -> Verdict {
    let fits = |c: char| c.is_ascii_alphanumeric() || "-._:[]%".contains(c);
    require(host.chars().all(fits), "is not a host name or an IP address")
}

pub fn not_root(path: &UrlPath) -> Verdict {
    require(path.0 != "/", "must not be the root, where the gateway itself answers")
}

/// Checks an optional email address.
pub fn email(text: &Option<String>) -> Verdict {
    let is_address =
        |text: &String| text.split_once('@').is_some_and(|(name, host)| !name.is_empty() && !host.is_empty());
    require(text.as_ref().is_none_or(is_address), "is not an email address")
}

pub fn http_url(url: &Option<String>) -> Verdict {
    require(url.as_deref().is_none_or(is_http_url), "is not an address that begins with http:// or https://")
}

pub fn is_http_url(url: &str) -> bool {
    let host = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
    host.is_some_and(|host| !host.is_empty() && !host.starts_with('/') && !url.contains(char::is_whitespace))
}

pub fn otlp_headers(list: &Option<Secret>) -> Verdict {
    let fits = |list: &Secret| traces::parse_headers(list.reveal()).is_some();
    require(
        list.as_ref().is_none_or(fits),
        "is not a list of headers such as authorization=Bearer%20abc,x-scope=1",
    )
}

pub fn resource_attributes(list: &Option<String>) -> Verdict {
    require(
        list.as_deref().is_none_or(|list| traces::parse_list(list).is_some()),
        "is not a list of attributes such as deployment.environment=prod,team=a",
    )
}

pub fn postgres_url(url: &Option<Secret>) -> Verdict {
    let known =
        |url: &Secret| ["postgres://", "postgresql://"].iter().any(|scheme| url.reveal().starts_with(scheme));
    require(url.as_ref().is_none_or(known), "is not an address that begins with postgres://")
}

pub fn redis_url(url: &Option<Secret>) -> Verdict {
    let known = |url: &Secret| {
        ["redis://", "rediss://"].iter().any(|scheme| url.reveal().starts_with(scheme))
            && Redis::new(url, Duration::from_secs(1)).is_ok()
    };
    require(url.as_ref().is_none_or(known), "is not an address such as redis://:password@host:6379/0")
}

pub fn webhook_url(url: &Option<Secret>) -> Verdict {
    let fits = |url: &Secret| is_http_url(url.reveal());
    require(url.as_ref().is_none_or(fits), "is not an address that begins with http:// or https://")
}

pub fn webhook_secret(secret: &Option<Secret>) -> Verdict {
    let fits = |secret: &Secret| (16..=200).contains(&secret.reveal().len());
    require(secret.as_ref().is_none_or(fits), "must have 16 to 200 characters")
}

pub fn webhook_events(names: &[String]) -> Verdict {
    let is_known = |name: &String| WebhookEvent::parse(name).is_some();
    require(
        names.iter().all(is_known),
        "must be names of budget.threshold, breaker.opened, breaker.closed, key.created, key.revoked, key.expiring, \
         login.failed and config.changed",
    )
}

pub fn origins(origins: &[String]) -> Verdict {
    let fits = |origin: &String| origin == "*" || (is_http_url(origin) && origin.matches('/').count() == 2);
    require(origins.iter().all(fits), "is not a list of origins such as https://example.com, or *")
}

pub fn log_level(filter: &str) -> Verdict {
    let level = |part: &str| {
        ["off", "error", "warn", "info", "debug", "trace"].contains(&part.to_ascii_lowercase().as_str())
    };
    let directive = |part: &str| level(part.rsplit('=').next().unwrap_or(part).trim());
    require(
        filter.split(',').all(directive),
        "is not error, warn, info, debug or trace, nor a list such as info,hyper=warn",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check<T: Value + PartialEq + std::fmt::Debug>(text: &str, expected: Option<T>) {
        assert_eq!(T::parse(text), expected, "{text:?}");
    }

    #[test]
    fn durations() {
        check("30", Some(Duration::from_secs(30)));
        check("30s", Some(Duration::from_secs(30)));
        check("250ms", Some(Duration::from_millis(250)));
        check("5m", Some(Duration::from_secs(300)));
        check("1h", Some(Duration::from_secs(3600)));
        for wrong in ["", "s", "-1", "1.5s", "5 weeks", "99999999999999999999", "18446744073709551615h"] {
            check::<Duration>(wrong, None);
        }
    }

    #[test]
    fn sizes() {
        check("10M", Some(ByteSize(10 << 20)));
        check("512k", Some(ByteSize(512 << 10)));
        check("1G", Some(ByteSize(1 << 30)));
        check("77", Some(ByteSize(77)));
        for wrong in ["", "M", "10X", "-1K", "99999999999999999999", "18446744073709551615G"] {
            check::<ByteSize>(wrong, None);
        }
    }

    #[test]
    fn paths_lose_their_last_slash() {
        check("/", Some(UrlPath("/".into())));
        check("/gateway/", Some(UrlPath("/gateway".into())));
        for wrong in ["", "gateway", "/a//b", "/a/../b", "/a b", "/é"] {
            check::<UrlPath>(wrong, None);
        }
    }

    #[test]
    fn an_encryption_key_is_32_bytes_in_hex_or_base64() {
        let key = Some(Some(EncryptionKey([0xAB; 32])));
        check(&"ab".repeat(32), key.clone());
        check(&STANDARD.encode([0xAB; 32]), key.clone());
        check(&URL_SAFE_NO_PAD.encode([0xAB; 32]), key);
        check::<Option<EncryptionKey>>("", Some(None));
        for wrong in ["ab", "zz".repeat(32).as_str(), STANDARD.encode([1; 31]).as_str()] {
            check::<Option<EncryptionKey>>(wrong, None);
        }
    }

    #[test]
    fn words_are_read_in_any_case() {
        check("PostgreSQL", Some(StorageType::Postgres));
        check("Off", Some(Demo::Off));
        check("YES", Some(true));
        check::<bool>("maybe", None);
    }

    #[test]
    fn checks_on_values() {
        assert!(log_level("info,hyper=warn").is_ok() && log_level("loud").is_err());
        assert!(origins(&["https://a.example:8443".into(), "*".into()]).is_ok());
        assert!(origins(&["a.example".into()]).is_err() && origins(&["https://a.example/x".into()]).is_err());
        assert!(networks(&["10.0.0.0/8".into(), "192.0.2.7".into(), "2001:db8::/32".into()]).is_ok());
        assert!(networks(&["10.0.0.0/33".into()]).is_err() && networks(&["proxy".into()]).is_err());
        let headers = |list: &str| otlp_headers(&Some(Secret::new(list)));
        assert!(headers("authorization=Basic%20x").is_ok() && headers("authorization").is_err());
        assert!(resource_attributes(&Some("a=1,b=2".into())).is_ok());
        assert!(resource_attributes(&Some("prod".into())).is_err());
        assert!(host("::1").is_ok() && host("a b").is_err());
    }
}
