//! Parses media in a request: embedded data and files, distinguished by media type.

use domain::call::Format;
use domain::canon::{Content, Media, MediaSource};
use domain::fault::Fault;

use crate::embedded;

use super::node::Node;

/// Reads the media of a part; `None` if it has none.
pub fn read(node: &Node<'_>) -> Result<Option<Content>, Fault> {
    let media_type = |node: &Node<'_>| -> Result<Option<String>, Fault> {
        Ok(node.get("mimeType").map(|kind| kind.text()).transpose()?.map(str::to_ascii_lowercase))
    };
    let (source, media_type) = if let Some(inline) = node.get("inlineData") {
        inline.required("mimeType")?;
        let data = inline.required("data")?;
        let text = data.text()?;
        embedded::check(text, &data.path)?;
        (MediaSource::Data(text.to_owned()), media_type(&inline)?)
    } else if let Some(file) = node.get("fileData") {
        let uri = file.required("fileUri")?.text()?;
        let kind = media_type(&file)?.or_else(|| guessed(uri).map(str::to_owned));
        (address(uri), kind)
    } else {
        return Ok(None);
    };
    let kind = media_type.clone().unwrap_or_default();
    let media = Media { source, media_type, detail: detail(node)?, name: None };
    Ok(Some(match kind.split('/').next() {
        Some("image") => Content::Image(media),
        Some("audio") => Content::Audio(media),
        Some("text") => Content::Document(media),
        _ if matches!(kind.as_str(), "application/pdf" | "application/json") => Content::Document(media),
        _ => Content::Foreign { format: Format::Gemini, value: node.value.clone() },
    }))
}

/// The source of a file: a publicly reachable URL, or else a file that only its provider has.
fn address(uri: &str) -> MediaSource {
    let public = uri.starts_with("https://") || uri.starts_with("http://");
    if public && !uri.contains("/v1beta/files/") {
        MediaSource::Url(uri.to_owned())
    } else {
        MediaSource::File(uri.to_owned())
    }
}

/// The media resolution, in the terms other formats use for image detail.
fn detail(node: &Node<'_>) -> Result<Option<String>, Fault> {
    let Some(resolution) = node.get("mediaResolution") else { return Ok(None) };
    let Some(level) = resolution.get("level") else { return Ok(None) };
    let level = level.text()?;
    Ok(Some(level.strip_prefix("MEDIA_RESOLUTION_").unwrap_or(level).to_ascii_lowercase()))
}

fn guessed(uri: &str) -> Option<&'static str> {
    let path = uri.split(['?', '#']).next()?;
    Some(match path.rsplit('.').next()?.to_ascii_lowercase().as_str() {
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "webp" => "image/webp",
        "gif" => "image/gif",
        "pdf" => "application/pdf",
        "txt" | "md" => "text/plain",
        "wav" => "audio/wav",
        "mp3" => "audio/mpeg",
        _ => return None,
    })
}
