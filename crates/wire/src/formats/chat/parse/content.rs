//! Parses message content: a string, or an array of parts.

use domain::canon::{Content, Media, MediaSource, Part};
use domain::fault::Fault;
use serde_json::Value;

use crate::embedded;
use crate::members::{Members, wrong};

/// The kinds of parts allowed in a message's content.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Allowed {
    /// System messages.
    Text,
    /// User messages and tool results.
    Media,
    /// Assistant messages.
    Answer,
}

impl Allowed {
    fn types(self) -> &'static str {
        match self {
            Self::Text => "'text'",
            Self::Media => "'text', 'image_url', 'input_audio' and 'file'",
            Self::Answer => "'text' and 'refusal'",
        }
    }
}

/// Reads the content of the message at `place`: a string is one part.
pub fn read(value: Value, place: &str, allowed: Allowed) -> Result<Vec<Part>, Fault> {
    let place = format!("{place}.content");
    match value {
        Value::String(text) => Ok(vec![Part::text(text).at(place)]),
        Value::Array(parts) => parts
            .into_iter()
            .enumerate()
            .map(|(index, part)| read_part(part, format!("{place}[{index}]"), allowed))
            .collect(),
        _ => Err(wrong(&place, "a string or an array of parts")),
    }
}

fn read_part(value: Value, place: String, allowed: Allowed) -> Result<Part, Fault> {
    let mut part = match value {
        // Some clients put bare strings between the parts.
        Value::String(text) => return Ok(Part::text(text).at(place)),
        other => Members::of(other, place.clone())?,
    };
    let cache = part.cache_mark();
    let kind = part.required_string("type")?;
    let content = match (kind.as_str(), allowed) {
        ("text", _) => Content::Text(part.required_string("text")?),
        ("refusal", Allowed::Answer) => Content::Refusal(part.required_string("refusal")?),
        ("image_url", Allowed::Media) => Content::Image(read_image(part)?),
        ("input_audio", Allowed::Media) => Content::Audio(read_audio(part.required_object("input_audio")?)?),
        ("file", Allowed::Media) => Content::Document(read_file(part.required_object("file")?)?),
        (other, _) => return Err(part.unknown("type", other, allowed.types())),
    };
    Ok(Part::new(content).cached(cache).at(place))
}

fn read_image(mut part: Members) -> Result<Media, Fault> {
    // Some clients write the URL where its object belongs.
    let (url, detail, path) = match part.take("image_url") {
        Some(Value::String(url)) => (url, None, part.path("image_url")),
        Some(value) => {
            let mut image = Members::of(value, part.path("image_url"))?;
            (image.required_string("url")?, image.string("detail")?, image.path("url"))
        }
        None => return Err(part.missing("image_url")),
    };
    let (source, media_type) = if let Some(data) = url.strip_prefix("data:") {
        let (media_type, data) = split_data_url(data).ok_or_else(|| {
            wrong(&path, "a data URL of the form 'data:image/png;base64,…' or an address with http")
        })?;
        embedded::check(&data, &path)?;
        (MediaSource::Data(data), Some(media_type))
    } else if url.starts_with("http://") || url.starts_with("https://") {
        (MediaSource::Url(url), None)
    } else {
        return Err(wrong(&path, "an address with http or https, or a data URL"));
    };
    Ok(Media { source, media_type, detail, name: None })
}

fn read_audio(mut audio: Members) -> Result<Media, Fault> {
    let data = audio.required_string("data")?;
    let format = audio.required_string("format")?;
    let media_type = Some(format!("audio/{format}"));
    Ok(Media { source: MediaSource::Data(data), media_type, detail: None, name: None })
}

fn read_file(mut file: Members) -> Result<Media, Fault> {
    let name = file.string("filename")?;
    if let Some(id) = file.string("file_id")? {
        return Ok(Media { source: MediaSource::File(id), media_type: None, detail: None, name });
    }
    let data = file.required_string("file_data")?;
    let (media_type, data) = match data.strip_prefix("data:") {
        Some(rest) => split_data_url(rest).ok_or_else(|| {
            wrong(file.path("file_data"), "a data URL of the form 'data:application/pdf;base64,…'")
        })?,
        None => ("application/pdf".to_owned(), data),
    };
    Ok(Media { source: MediaSource::Data(data), media_type: Some(media_type), detail: None, name })
}

/// Splits `image/png;base64,AAAA` into media type and data.
fn split_data_url(rest: &str) -> Option<(String, String)> {
    let (head, data) = rest.split_once(',')?;
    let media_type = head.strip_suffix(";base64")?;
    let media_type = media_type.split(';').next().filter(|name| name.contains('/'))?;
    Some((media_type.to_ascii_lowercase(), data.to_owned()))
}
