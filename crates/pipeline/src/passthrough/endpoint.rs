//! The path below the provider's base URL: decoded once, validated and encoded again, so that it cannot escape the
//! base.

use std::borrow::Cow;

use domain::call::{Format, Surface};
use domain::fault::{self, Fault};
use http::Method;

const PARAM: &str = "endpoint";

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Endpoint {
    /// Relative to the base path; begins with a slash.
    pub(super) path_and_query: String,
    /// The model that the path names.
    pub(super) model: Option<String>,
    /// The purpose of a `POST` to this endpoint.
    made: Purpose,
    /// The provider does not bill this endpoint.
    pub(super) is_free: bool,
    /// Ids of stored objects that the path names.
    pub(super) objects: Vec<String>,
    /// The kind of object that a `POST` creates.
    pub(super) makes: Option<StoredObjectKind>,
    /// A `POST` starts work whose cost no answer reports.
    pub(super) is_unmetered: bool,
    /// The kind of call, if its bodies have a known shape.
    pub(super) surface: Option<Surface>,
    /// The path itself asks for a stream.
    pub(super) streams: bool,
    /// The path is of an answer that the provider stores, or of a part of it.
    is_stored_answer: bool,
}

/// A kind of object that a provider stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StoredObjectKind {
    Response,
    /// Stored only if the request, or the provider's default, says so.
    Completion,
    Object,
}

impl Endpoint {
    pub(super) fn parse(
        raw: &str,
        base_path: &str,
        query: Option<String>,
        drop_version: bool,
    ) -> Result<Self, Fault> {
        let decoded = decode(raw)?;
        let mut segments: Vec<&str> = decoded.split('/').collect();
        check(&segments)?;
        let version = base_path.rsplit('/').next().unwrap_or_default();
        if drop_version && segments.len() > 1 && (segments[0] == "v1" || segments[0] == version) {
            segments.remove(0);
        }
        let mut path_and_query = String::with_capacity(raw.len() + 1);
        for segment in &segments {
            path_and_query.push('/');
            encode(segment, &mut path_and_query);
        }
        assert_below(base_path, &path_and_query)?;
        if let Some(query) = query {
            path_and_query.push('?');
            path_and_query.push_str(&query);
        }
        let canonical: Vec<Cow<'_, str>> = segments.iter().map(|segment| canonical(segment)).collect();
        let segments: Vec<&str> = canonical.iter().map(|segment| &**segment).collect();
        // Many servers ignore a trailing slash.
        let segments = segments.strip_suffix(&[""]).unwrap_or(&segments);
        let (model, made, is_free) = (model(segments), Purpose::of(segments), is_free(segments));
        Ok(Self {
            path_and_query,
            model,
            made,
            is_free,
            objects: objects(segments),
            makes: makes(segments),
            is_unmetered: is_unmetered(segments),
            surface: surface(segments),
            streams: verb(segments) == Some("streamGenerateContent"),
            is_stored_answer: is_stored_answer(segments),
        })
    }

    /// Whether a `GET` lists the objects of the whole account. A list below an object belongs to that object's owner.
    pub(super) fn lists_account(&self) -> bool {
        self.objects.is_empty()
            && matches!(self.makes, Some(StoredObjectKind::Completion | StoredObjectKind::Object))
    }

    /// Whether the answer to a call may have answers that the provider has stored.
    pub(super) fn reads_answers_back(&self, method: &Method) -> bool {
        let lists = || *method == Method::GET && self.makes == Some(StoredObjectKind::Completion);
        *method != Method::DELETE && (self.is_stored_answer || lists())
    }

    pub(super) fn purpose(&self, method: &Method) -> Purpose {
        if *method == Method::POST { self.made } else { Purpose::default() }
    }
}

/// The properties of a call that decide how it is metered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Purpose {
    /// The call creates something, rather than reading it back.
    pub(super) creates: bool,
    /// The call runs inference.
    pub(super) infers: bool,
    /// The call generates text, unlike embeddings and reranking.
    pub(super) generates_text: bool,
    /// The call generates images.
    pub(super) draws: bool,
}

/// The client's query without its credential, and with the instance's `api-version` if the client sets none.
pub(super) fn query(query: Option<&str>, token: &str, api_version: Option<&str>) -> Option<String> {
    let pairs = query.unwrap_or_default().split('&').filter(|pair| !pair.is_empty());
    let mut kept: Vec<String> = Vec::new();
    let mut versioned = false;
    for pair in pairs {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let plain = |text| percent_decoded(text).unwrap_or_default();
        let name = plain(name);
        let secret = name == b"key" || (!token.is_empty() && plain(value) == token.as_bytes());
        versioned |= name == b"api-version";
        if !secret {
            kept.push(pair.to_owned());
        }
    }
    if let Some(version) = api_version.filter(|_| !versioned) {
        kept.push(format!("api-version={version}"));
    }
    (!kept.is_empty()).then(|| kept.join("&"))
}

fn refused(message: &str) -> Fault {
    fault::invalid_parameter(PARAM, message)
}

fn decode(raw: &str) -> Result<String, Fault> {
    let bytes =
        percent_decoded(raw).ok_or_else(|| refused("The path has a '%' that no two hex digits follow."))?;
    let text = String::from_utf8(bytes).map_err(|_| refused("The path is not UTF-8."))?;
    if text.contains('\\') || text.chars().any(char::is_control) {
        return Err(refused("The path must not have backslashes or control characters."));
    }
    // A server that decodes a second time would see a dot, slash or backslash here.
    let lower = text.to_ascii_lowercase();
    if ["%2e", "%2f", "%5c"].iter().any(|hidden| lower.contains(hidden)) {
        return Err(refused("The path is encoded twice."));
    }
    Ok(text)
}

fn percent_decoded(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes().iter();
    while let Some(&byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digit = |byte: Option<&u8>| char::from(*byte?).to_digit(16);
        let (high, low) = (digit(rest.next())?, digit(rest.next())?);
        bytes.push((high * 16 + low) as u8);
    }
    Some(bytes)
}

fn check(segments: &[&str]) -> Result<(), Fault> {
    for (index, segment) in segments.iter().enumerate() {
        // Some servers strip `;` parameters from a segment before they resolve it.
        let name = segment.split(';').next().unwrap_or_default();
        if name == "." || name == ".." {
            return Err(refused("The path must stay below the provider's base URL."));
        }
        let last = index > 0 && index + 1 == segments.len();
        if name.is_empty() && !last {
            return Err(refused("The path must be relative, without empty segments."));
        }
    }
    Ok(())
}

fn encode(segment: &str, path: &mut String) {
    for byte in segment.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@".contains(&byte) {
            path.push(char::from(byte));
        } else {
            path.push_str(&format!("%{byte:02X}"));
        }
    }
}

/// Checks that the joined path, with dot segments resolved, lies below the base path. The earlier checks imply this; it
/// is verified again as a second line of defence.
fn assert_below(base_path: &str, path: &str) -> Result<(), Fault> {
    let joined = format!("{base_path}{path}");
    let mut resolved: Vec<&str> = Vec::new();
    for segment in joined.split('/').skip(1) {
        match segment {
            "." => {}
            ".." => drop(resolved.pop()),
            name => resolved.push(name),
        }
    }
    let base: Vec<&str> = base_path.split('/').skip(1).collect();
    let below = joined.starts_with('/') && resolved.starts_with(&base) && resolved.len() > base.len();
    if below { Ok(()) } else { Err(refused("The path must stay below the provider's base URL.")) }
}

/// The names and verbs that decide about a call, besides [`COLLECTIONS`].
const NAMES: [&str; 32] = [
    "chat",
    "messages",
    "embeddings",
    "rerank",
    "images",
    "generations",
    "edits",
    "variations",
    "models",
    "deployments",
    "tunedModels",
    "endpoints",
    "items",
    "complete",
    "input_tokens",
    "compact",
    "search",
    "count_tokens",
    "tokenize",
    "detokenize",
    "moderations",
    "cancel",
    "finetuned-models",
    "embed-jobs",
    "generateContent",
    "streamGenerateContent",
    "embedContent",
    "batchEmbedContents",
    "countTokens",
    "batchGenerateContent",
    "asyncBatchEmbedContent",
    "predictLongRunning",
];

/// A segment as this module compares it: without `;` parameters, and with its known names in their usual spelling. Some
/// servers ignore both.
fn canonical(segment: &str) -> Cow<'_, str> {
    let segment = segment.split(';').next().unwrap_or_default();
    let known =
        |text: &str| NAMES.iter().chain(&COLLECTIONS).copied().find(|name| name.eq_ignore_ascii_case(text));
    if let Some(name) = known(segment) {
        return Cow::Borrowed(name);
    }
    match segment.rsplit_once(':').and_then(|(name, verb)| Some((name, known(verb)?))) {
        Some((name, verb)) => Cow::Owned(format!("{name}:{verb}")),
        None => Cow::Borrowed(segment),
    }
}

/// The model named by `models/{m}:verb`, `models/{m}`, `deployments/{m}/…`, `tunedModels/{m}:verb` or
/// `endpoints/{m}:verb`.
fn model(segments: &[&str]) -> Option<String> {
    if let [.., "tunedModels" | "endpoints", named] = segments
        && let Some((name, _)) = named.rsplit_once(':')
    {
        return (!name.is_empty()).then(|| name.chars().take(300).collect());
    }
    let at = segments.iter().position(|segment| matches!(*segment, "models" | "deployments"))?;
    let named = segments.get(at + 1)?;
    let verb = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphabetic());
    let name = match named.rsplit_once(':') {
        Some((name, after)) if segments[at] == "models" && verb(after) => name,
        _ => named,
    };
    (!name.is_empty()).then(|| name.chars().take(300).collect())
}

impl Purpose {
    /// Recognizes the endpoints of all supported API formats, at any depth below the base URL.
    fn of(segments: &[&str]) -> Self {
        let last = segments.last().copied().unwrap_or_default();
        let (name, verb) = last.rsplit_once(':').unwrap_or((last, ""));
        let generates_text = matches!(name, "completions" | "responses" | "messages" if verb.is_empty())
            || matches!(verb, "generateContent" | "streamGenerateContent");
        let measures = matches!(name, "embeddings" | "rerank" if verb.is_empty())
            || matches!(verb, "embedContent" | "batchEmbedContents");
        let draws = matches!(segments, [.., "images", "generations" | "edits" | "variations"]);
        Self { creates: true, infers: generates_text || measures, generates_text, draws }
    }
}

/// The verb of `models/{model}:verb`, and of such paths below other collections of models.
fn verb<'a>(segments: &[&'a str]) -> Option<&'a str> {
    segments.last()?.rsplit_once(':').map(|(_, verb)| verb)
}

/// The kind of call whose bodies have a known shape. The endpoints of all API formats have different names, so that the
/// provider does not matter: many offer several formats.
fn surface(segments: &[&str]) -> Option<Surface> {
    match (segments, verb(segments)) {
        (_, Some("generateContent" | "streamGenerateContent")) => Some(Surface::Converse(Format::Gemini)),
        (_, Some("embedContent")) => Some(Surface::EmbedContent { batch: false }),
        (_, Some("batchEmbedContents")) => Some(Surface::EmbedContent { batch: true }),
        ([.., "chat", "completions"], _) => Some(Surface::Converse(Format::Chat)),
        ([.., "completions"], _) => Some(Surface::Completions),
        ([.., "responses"], _) => Some(Surface::Converse(Format::Responses)),
        // Messages of stored threads have another shape.
        ([.., "threads", _, "messages"], _) => None,
        ([.., "messages"], _) => Some(Surface::Converse(Format::Messages)),
        ([.., "embeddings"], _) => Some(Surface::Embeddings),
        ([.., "rerank"], _) => Some(Surface::Rerank),
        _ => None,
    }
}

/// Collections whose members the provider stores under an id.
const COLLECTIONS: [&str; 15] = [
    "responses",
    "completions",
    "files",
    "uploads",
    "batches",
    "conversations",
    "jobs",
    "fine-tunes",
    "vector_stores",
    "assistants",
    "threads",
    "runs",
    "containers",
    "videos",
    "evals",
];

fn objects(segments: &[&str]) -> Vec<String> {
    let verbs = ["", "input_tokens", "compact", "search", "runs", "generations"];
    let pairs =
        segments.windows(2).filter(|pair| COLLECTIONS.contains(&pair[0]) && !verbs.contains(&pair[1]));
    pairs.map(|pair| pair[1].to_owned()).collect()
}

/// Responses, chat completions and the items of conversations, which contain answers as the model gave them.
fn is_stored_answer(segments: &[&str]) -> bool {
    segments.windows(3).any(|part| {
        matches!(part, [_, "responses", id] if !["input_tokens", "compact"].contains(id))
            || matches!(part, ["chat", "completions", _] | ["conversations", _, "items"])
    }) || matches!(segments, ["responses", id, ..] if !["input_tokens", "compact"].contains(id))
}

fn makes(segments: &[&str]) -> Option<StoredObjectKind> {
    match segments {
        [.., "responses"] => Some(StoredObjectKind::Response),
        [.., "chat", "completions"] => Some(StoredObjectKind::Completion),
        [.., "completions"] => None,
        // Completing an upload creates a file.
        [.., "uploads", _, "complete"] => Some(StoredObjectKind::Object),
        [.., last] if COLLECTIONS.contains(last) => Some(StoredObjectKind::Object),
        _ => None,
    }
}

/// Batches, fine-tuning and assistant runs are billed later, and no answer that passes here reports their cost.
fn is_unmetered(segments: &[&str]) -> bool {
    let last = segments.last().copied().unwrap_or_default();
    let verb = last.rsplit_once(':').map_or("", |(_, verb)| verb);
    let later =
        ["batches", "jobs", "fine-tunes", "finetuned-models", "embed-jobs", "tunedModels", "runs", "videos"];
    later.contains(&last)
        || matches!(verb, "batchGenerateContent" | "asyncBatchEmbedContent" | "predictLongRunning")
}

/// Token counting, moderation, file storage and cancellation are not billed.
fn is_free(segments: &[&str]) -> bool {
    let last = segments.last().copied().unwrap_or_default();
    let verb = last.rsplit_once(':').map_or(last, |(_, verb)| verb);
    let free = [
        "count_tokens",
        "countTokens",
        "input_tokens",
        "tokenize",
        "detokenize",
        "moderations",
        "files",
        "uploads",
        "cancel",
    ];
    free.contains(&verb)
}
