//! Content negotiation by `Accept-Encoding` (RFC 9110, section 12.5.3).

/// An encoding in which a file can be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    Brotli,
    Gzip,
    Identity,
}

impl Encoding {
    /// The value of `Content-Encoding`; `None` if the content is sent as it is.
    pub fn header(self) -> Option<&'static str> {
        match self {
            Self::Brotli => Some("br"),
            Self::Gzip => Some("gzip"),
            Self::Identity => None,
        }
    }

    fn is_named(self, name: &str) -> bool {
        match self {
            Self::Gzip => name.eq_ignore_ascii_case("gzip") || name.eq_ignore_ascii_case("x-gzip"),
            Self::Brotli => name.eq_ignore_ascii_case("br"),
            Self::Identity => name.eq_ignore_ascii_case("identity"),
        }
    }
}

/// The offered encoding with the highest weight; the first of several. Identity if the client accepts none of them.
pub fn choose(accepted: &str, offered: impl Iterator<Item = Encoding>) -> Encoding {
    let mut best = (0, Encoding::Identity);
    for encoding in offered {
        let weight = weight(accepted, encoding);
        if weight > best.0 {
            best = (weight, encoding);
        }
    }
    best.1
}

/// The weight of an encoding in thousandths, 0 if it is not accepted.
fn weight(accepted: &str, encoding: Encoding) -> u32 {
    let mut by_wildcard = None;
    for element in accepted.split(',') {
        let mut parts = element.split(';').map(str::trim);
        let name = parts.next().unwrap_or_default();
        let quality = parts.find_map(|part| part.strip_prefix("q=").or_else(|| part.strip_prefix("Q=")));
        let weight = quality.map_or(1000, thousandths);
        if encoding.is_named(name) {
            return weight;
        }
        if name == "*" {
            by_wildcard = Some(weight);
        }
    }
    // Identity is acceptable unless it is excluded, but any encoding that is named is better.
    by_wildcard.unwrap_or(if encoding == Encoding::Identity { 1 } else { 0 })
}

fn thousandths(quality: &str) -> u32 {
    let value: f32 = quality.trim().parse().unwrap_or(0.0);
    (value.clamp(0.0, 1.0) * 1000.0) as u32
}
