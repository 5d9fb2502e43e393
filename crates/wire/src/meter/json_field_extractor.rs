//! Extracts a few members from streamed JSON: at the top level, and one level below `response` and `message`.

use crate::json::{self, TokenKind, TokenizerState, Tokens};

/// Number of bytes of a key that are kept; the longest relevant key, fully escaped, is shorter.
const KEY_LIMIT: usize = 96;
/// Maximum length of an extracted value; longer ones are not relevant.
const VALUE_LIMIT: usize = 16 * 1024;

/// Maximum length of a recorded id, including escapes.
const REFERENCE_LIMIT: usize = 4 * 1024;

const NAMES: &[&str] = &[
    "usage",
    "usageMetadata",
    "id",
    "responseId",
    "model",
    "models",
    "modelVersion",
    "type",
    "status",
    "n",
    "best_of",
    "num_generations",
    "generationConfig",
    "generation_config",
    "store",
    "background",
    "output_file_id",
    "error_file_id",
];
const CONTAINERS: &[&str] = &["response", "message", "conversation", "file"];
/// Members whose strings are ids of objects stored by a provider, at any depth.
const REFERENCES: &[&str] = &[
    "previous_response_id",
    "response_id",
    "conversation",
    "conversation_id",
    "file_id",
    "file_ids",
    "input_file_id",
    "training_file",
    "validation_file",
    "batch_id",
    "container",
    "container_id",
    "vector_store_id",
    "vector_store_ids",
    "assistant_id",
    "thread_id",
];
/// Members that contain a finish reason.
const FINISH_REASONS: &[&str] = &["finish_reason", "stop_reason", "finishReason"];
/// Members that contain model output, in all formats.
const TEXTS: &[&str] = &[
    "text",
    "content",
    "delta",
    "thinking",
    "arguments",
    "partial_json",
    "reasoning_content",
    "reasoning",
    "refusal",
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemberScope {
    Top,
    Within(&'static str),
}

pub struct Member<'a> {
    pub place: MemberScope,
    pub name: &'static str,
    /// The raw value; `None` if it exceeds the limit.
    pub value: Option<&'a [u8]>,
}

/// A top-level member of a request that a decision about the call depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestField {
    Model,
    /// Models that the provider may use instead.
    FallbackModels,
    /// The number of answers.
    Choices,
    /// The number of answers that are generated, of which some may be discarded.
    Candidates,
    /// An object of settings, which may contain the number of answers.
    GenerationConfig,
    Store,
    Background,
}

impl RequestField {
    /// Whether the member can multiply the work that the request asks for.
    pub fn multiplies(self) -> bool {
        matches!(self, Self::FallbackModels | Self::Choices | Self::Candidates | Self::GenerationConfig)
    }
}

impl Member<'_> {
    /// The meaning of the member at the top level of a request, in any format.
    pub fn request_field(&self) -> Option<RequestField> {
        Some(match self.name {
            "model" => RequestField::Model,
            "models" => RequestField::FallbackModels,
            "n" => RequestField::Choices,
            "best_of" | "num_generations" => RequestField::Candidates,
            "generationConfig" | "generation_config" => RequestField::GenerationConfig,
            "store" => RequestField::Store,
            "background" => RequestField::Background,
            _ => return None,
        })
    }
}

/// Incremental extractor for JSON members. Input that is not JSON yields nothing, in the same bounded memory.
#[derive(Default)]
pub struct JsonFieldExtractor {
    depth: usize,
    /// Whether the text is an array, whose elements then are the top level.
    in_array: bool,
    /// Whether the top-level object is being read.
    top: bool,
    /// The container being read below the top level.
    container: Option<&'static str>,
    tokenizer: TokenizerState,
    /// The last string: a key if a colon follows.
    last: Vec<u8>,
    last_length: u64,
    key_is_text: bool,
    key_is_finish: bool,
    key_is_reference: bool,
    pending: Option<Pending>,
    content_bytes: u64,
    finished: bool,
    /// Ids of stored objects; `None` if they are not collected.
    references: Option<Vec<String>>,
}

/// A relevant value, starting after its colon.
struct Pending {
    place: MemberScope,
    name: &'static str,
    /// The value so far; `None` once it exceeds the limit.
    value: Option<Vec<u8>>,
}

impl JsonFieldExtractor {
    /// An extractor that also collects the ids of referenced stored objects.
    pub fn with_references() -> Self {
        Self { references: Some(Vec::new()), ..Self::default() }
    }

    /// The ids found since this was last called.
    pub fn take_references(&mut self) -> Vec<String> {
        self.references.as_mut().map(std::mem::take).unwrap_or_default()
    }

    pub fn add_references(&mut self, ids: Vec<String>) {
        if let Some(references) = &mut self.references {
            references.extend(ids);
        }
    }

    /// Whether a finish reason was read.
    pub fn has_finished(&self) -> bool {
        self.finished
    }

    /// Whether the text is an array.
    pub fn is_in_array(&self) -> bool {
        self.in_array
    }

    pub fn feed(&mut self, chunk: &[u8], mut give: impl FnMut(Member<'_>)) {
        let mut tokens = Tokens::new(self.tokenizer, chunk);
        for token in tokens.by_ref() {
            match token.kind {
                TokenKind::Structure => self.structure(token.bytes[0], &mut give),
                TokenKind::Other => self.keep(token.bytes),
                TokenKind::StringStart => {
                    self.last.clear();
                    self.last_length = 0;
                    self.keep(token.bytes);
                }
                TokenKind::Text | TokenKind::StringEnd => {
                    self.extend_string(token.bytes);
                    self.keep(token.bytes);
                }
            }
        }
        self.tokenizer = tokens.state();
    }

    /// Resets the state and returns the number of content bytes.
    pub fn restart(&mut self) -> u64 {
        std::mem::take(self).content_bytes
    }

    fn keep(&mut self, bytes: &[u8]) {
        let Some(Pending { value: Some(value), .. }) = &mut self.pending else { return };
        if value.len() + bytes.len() <= VALUE_LIMIT {
            value.extend_from_slice(bytes);
        } else if let Some(pending) = &mut self.pending {
            pending.value = None;
        }
    }

    /// Adds a part of a string, up to its closing quote.
    fn extend_string(&mut self, bytes: &[u8]) {
        let limit = if self.references.is_some() { REFERENCE_LIMIT } else { KEY_LIMIT };
        let room = limit.saturating_sub(self.last.len()).min(bytes.len());
        self.last.extend_from_slice(&bytes[..room]);
        self.last_length += bytes.len() as u64;
    }

    fn structure(&mut self, byte: u8, give: &mut impl FnMut(Member<'_>)) {
        if matches!(byte, b',' | b'}' | b']') {
            self.end_value(give);
        }
        match byte {
            b':' => return self.begin_value(),
            b'{' => self.open_object(),
            b'[' => {
                self.in_array |= self.depth == 0;
                self.depth += 1;
            }
            b'}' | b']' => self.close(),
            _ => {}
        }
        self.keep(&[byte]);
    }

    fn open_object(&mut self) {
        if self.depth == self.top_depth() {
            self.top = true;
        }
        self.depth += 1;
    }

    fn close(&mut self) {
        self.depth = self.depth.saturating_sub(1);
        if self.depth <= self.top_depth() {
            self.top = false;
        }
        if self.depth <= self.top_depth() + 1 {
            self.container = None;
        }
        if self.depth == 0 {
            self.in_array = false;
        }
    }

    /// Depth of the top-level object.
    fn top_depth(&self) -> usize {
        usize::from(self.in_array)
    }

    fn place(&self) -> Option<MemberScope> {
        match (self.depth.checked_sub(self.top_depth())?, self.container) {
            (1, _) if self.top => Some(MemberScope::Top),
            (2, Some(container)) => Some(MemberScope::Within(container)),
            _ => None,
        }
    }

    /// Handles a colon: the last string was a key.
    fn begin_value(&mut self) {
        let last = std::mem::take(&mut self.last);
        self.last_length = 0;
        let named = |names: &'static [&'static str]| names.iter().copied().find(|name| is_key(&last, name));
        self.key_is_text = named(TEXTS).is_some();
        self.key_is_finish = named(FINISH_REASONS).is_some();
        self.key_is_reference = self.references.is_some() && named(REFERENCES).is_some();
        if self.pending.is_some() {
            self.keep(b":");
        } else if let Some(place) = self.place() {
            self.container = match place {
                MemberScope::Top => named(CONTAINERS),
                MemberScope::Within(_) => self.container,
            };
            let name = named(NAMES);
            self.pending = name.map(|name| Pending { place, name, value: Some(Vec::new()) });
        }
        self.last = last;
        self.last.clear();
    }

    /// Handles the end of a value, before a comma or closing bracket.
    fn end_value(&mut self, give: &mut impl FnMut(Member<'_>)) {
        if self.key_is_text {
            // The closing quote is not counted.
            self.content_bytes += self.last_length.saturating_sub(1);
        }
        self.finished |= self.key_is_finish && self.last_length > 0;
        self.note_reference();
        self.last_length = 0;
        let here = self.place();
        let ended = self.pending.take_if(|pending| here == Some(pending.place));
        if let Some(Pending { place, name, value }) = ended {
            give(Member { place, name, value: value.as_deref().map(<[u8]>::trim_ascii) });
        }
    }

    fn note_reference(&mut self) {
        if !self.key_is_reference || self.last_length == 0 || !self.last.ends_with(b"\"") {
            return;
        }
        let quoted = [b"\"".as_slice(), &self.last].concat();
        if let (Some(id), Some(references)) =
            (json::string_at(&quoted, &(0..quoted.len())), &mut self.references)
            && !id.is_empty()
        {
            references.push(id.into_owned());
        }
    }
}

#[cfg(test)]
impl JsonFieldExtractor {
    pub(super) fn held(&self) -> usize {
        let pending = self.pending.as_ref().and_then(|pending| pending.value.as_ref());
        self.last.capacity() + pending.map_or(0, Vec::capacity)
    }
}

/// Whether a string is this key. `written` includes the closing quote. Case is ignored because some servers ignore it
/// too, and a model they accept must not go unnoticed.
fn is_key(written: &[u8], name: &str) -> bool {
    let Some(raw) = written.strip_suffix(b"\"") else { return false };
    if !raw.contains(&b'\\') {
        return raw.eq_ignore_ascii_case(name.as_bytes());
    }
    let quoted = [b"\"".as_slice(), raw, b"\""].concat();
    json::string_at(&quoted, &(0..quoted.len())).is_some_and(|key| key.eq_ignore_ascii_case(name))
}
