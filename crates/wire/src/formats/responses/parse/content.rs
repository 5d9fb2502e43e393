//! Parses the parts of a message, a tool result or reasoning.

use domain::canon::{Content, Media, MediaSource, Part};
use domain::fault::Fault;
use serde_json::Value;

use crate::embedded;
use crate::members::{Members, wrong};

/// Reads content: a string, or an array of parts.
pub fn read(owner: &mut Members, name: &str) -> Result<Vec<Part>, Fault> {
    let place = owner.path(name);
    match owner.take(name) {
        Some(Value::String(text)) => Ok(vec![Part::text(text).at(place)]),
        Some(Value::Array(parts)) => parts
            .into_iter()
            .enumerate()
            .map(|(index, part)| {
                let place = format!("{place}[{index}]");
                let mut node = Members::of(part, place.clone())?;
                Ok(Part::new(part_content(&mut node)?).at(place))
            })
            .collect(),
        _ => Err(wrong(&place, "a string or an array of content parts")),
    }
}

fn part_content(node: &mut Members) -> Result<Content, Fault> {
    Ok(match node.required_string("type")?.as_str() {
        "input_text" | "output_text" | "text" | "summary_text" | "reasoning_text" => {
            Content::Text(node.required_string("text")?)
        }
        "refusal" => Content::Refusal(node.required_string("refusal")?),
        "input_image" => Content::Image(image(node)?),
        "input_file" => Content::Document(file(node)?),
        "input_audio" => Content::Audio(audio(node)?),
        _ => {
            return Err(node.fault(
                "type",
                "must be 'input_text', 'input_image', 'input_file', 'input_audio', 'output_text', 'refusal', \
                 'summary_text' or 'text'.",
            ));
        }
    })
}

fn image(node: &mut Members) -> Result<Media, Fault> {
    let detail = node.string("detail")?;
    let (source, media_type) = if let Some(url) = node.string("image_url")? {
        let (source, media_type) = address(url);
        if let MediaSource::Data(data) = &source {
            embedded::check(data, &node.path("image_url"))?;
        }
        (source, media_type)
    } else if let Some(id) = node.string("file_id")? {
        (MediaSource::File(id), None)
    } else {
        return Err(node.fault("image_url", "is missing: an image needs 'image_url' or 'file_id'."));
    };
    Ok(Media { source, media_type, detail, name: None })
}

fn file(node: &mut Members) -> Result<Media, Fault> {
    let name = node.string("filename")?;
    let (source, media_type) = if let Some(data) = node.string("file_data")? {
        match address(data) {
            (MediaSource::Url(data), _) => (MediaSource::Data(data), guess(name.as_deref())),
            embedded => embedded,
        }
    } else if let Some(url) = node.string("file_url")? {
        address(url)
    } else if let Some(id) = node.string("file_id")? {
        (MediaSource::File(id), None)
    } else {
        return Err(node.fault("file_data", "is missing: a file needs 'file_data', 'file_url' or 'file_id'."));
    };
    Ok(Media { source, media_type, detail: None, name })
}

fn audio(node: &mut Members) -> Result<Media, Fault> {
    let Some(mut inner) = node.object("input_audio")? else {
        return Err(node.fault("input_audio", "is missing: it must be an object."));
    };
    let data = inner.required_string("data")?;
    let media_type = match inner.required_string("format")?.as_str() {
        "mp3" => "audio/mpeg".to_owned(),
        format => format!("audio/{format}"),
    };
    Ok(Media { source: MediaSource::Data(data), media_type: Some(media_type), detail: None, name: None })
}

/// Splits a data URL such as `data:image/png;base64,…`; anything else is a URL.
fn address(mut url: String) -> (MediaSource, Option<String>) {
    let embedded = url.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,"));
    let Some((media_type, data)) = embedded else { return (MediaSource::Url(url), None) };
    let media_type = media_type.split(';').next().filter(|kind| !kind.is_empty()).map(str::to_owned);
    let start = url.len() - data.len();
    (MediaSource::Data(url.split_off(start)), media_type)
}

/// Guesses the media type of bare base64 from the file name.
fn guess(name: Option<&str>) -> Option<String> {
    let (_, ending) = name?.rsplit_once('.')?;
    Some(match ending.to_ascii_lowercase().as_str() {
        "pdf" => "application/pdf".to_owned(),
        "txt" | "md" => "text/plain".to_owned(),
        _ => return None,
    })
}
