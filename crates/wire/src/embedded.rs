//! Checks of base64 media inside a body: readable, and within the size limits.

use domain::call::Format;
use domain::fault::{self, Fault};

/// The largest embedded file that is forwarded to any provider: 20 MiB, as the length of its base64 text.
const LARGEST: usize = (20 << 20) / 3 * 4;

/// Checks embedded base64 data where the client wrote it, so that the fault can name its path.
pub fn check(data: &str, path: &str) -> Result<(), Fault> {
    let letters = data.trim_end_matches('=');
    let readable = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_');
    if letters.is_empty() || data.len() - letters.len() > 2 || !letters.bytes().all(readable) {
        return Err(fault::invalid_parameter(path, format!("'{path}' must be base64.")));
    }
    if data.len() > LARGEST { Err(too_large(path, LARGEST)) } else { Ok(()) }
}

/// Maps common spellings of a media type to its registered name.
pub fn media_type(written: &str) -> &str {
    match written {
        "image/jpg" | "image/pjpeg" => "image/jpeg",
        other => other,
    }
}

/// Applies a provider's lower size limit, counted in base64 characters. `place` is the path of the part in the client's
/// request.
pub fn check_limit(data: &str, limit: usize, place: &str, client: Format) -> Result<(), Fault> {
    if data.len() <= limit {
        return Ok(());
    }
    let field = match client {
        Format::Chat => "image_url.url",
        Format::Responses => "image_url",
        Format::Messages => "source.data",
        Format::Gemini => "inlineData.data",
    };
    Err(too_large(&format!("{place}.{field}"), limit))
}

fn too_large(path: &str, limit: usize) -> Fault {
    let message = format!("'{path}' holds more than the {} bytes of base64 that can be taken.", limit);
    fault::invalid_parameter(path, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_base64_of_a_sane_size_passes() {
        for (data, good) in [
            ("iVBORw0KGgo=", true),
            ("AA", true),
            ("a-_+/==", true),
            ("%%", false),
            ("", false),
            ("====", false),
            ("ä", false),
        ] {
            assert_eq!(check(data, "x").is_ok(), good, "{data}");
        }
        assert!(check(&"A".repeat(28 << 20), "x").is_err());
        let fault =
            check_limit(&"A".repeat(8 << 20), 5 << 20, "messages[0].content[1]", Format::Chat).unwrap_err();
        assert_eq!(fault.param.as_deref(), Some("messages[0].content[1].image_url.url"));
    }
}
