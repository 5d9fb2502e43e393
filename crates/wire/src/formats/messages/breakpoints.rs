//! Cache breakpoints (`cache_control`) of a request: added where they help, or removed, as edits of its bytes. Forwarded
//! and translated requests pass the same code.

mod add;
mod remove;

use std::sync::LazyLock;

use bytes::Bytes;
use memchr::memmem::{self, Finder};

use crate::codec::{PromptCacheMode, Target};
use crate::json::{self, Object};
use crate::splice::{self, Patch};

const NAME: &str = "cache_control";

/// Bytes of JSON per token. Texts usually have more, so that a prefix that is nearly long enough counts as long enough:
/// a breakpoint too many has no effect.
const BYTES_PER_TOKEN: usize = 3;

/// Searcher for the key. A quote inside a JSON string is escaped, so this text followed by a colon can only be a key.
static KEY: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"\"cache_control\""));

/// Adds the edits of a body for this target to a patch of that body.
pub fn edit(body: &[u8], object: &Object, target: &Target<'_>, patch: &mut Patch) {
    if let Some(change) = Change::for_target(body, target) {
        change.write(body, object, patch);
    }
}

/// The encoded body of a request with its edits for this target.
pub fn edited(body: Bytes, target: &Target<'_>) -> Bytes {
    let Some(change) = Change::for_target(&body, target) else { return body };
    let Ok(object) = json::scan(&body) else { return body };
    let mut patch = Patch::new();
    change.write(&body, &object, &mut patch);
    splice::concat(&patch.apply(&body))
}

/// The change that a body needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    /// Add breakpoints behind prefixes of at least so many bytes.
    Add {
        min_bytes: usize,
    },
    Remove,
}

impl Change {
    /// Decides by a search of the bytes, before anything is scanned.
    fn for_target(body: &[u8], target: &Target<'_>) -> Option<Self> {
        match target.prompt_cache {
            PromptCacheMode::Manual => None,
            PromptCacheMode::Auto => {
                let tokens = (target.vendor.rules)(target.model).min_cached_prefix?;
                let min_bytes = usize::try_from(tokens).ok()?.saturating_mul(BYTES_PER_TOKEN);
                let is_long = body.len() >= min_bytes;
                (is_long && !has_breakpoints(body)).then_some(Self::Add { min_bytes })
            }
            // An escape may hide the name from the search.
            PromptCacheMode::Off => {
                let is_possible = has_breakpoints(body) || memmem::find(body, b"\\u00").is_some();
                is_possible.then_some(Self::Remove)
            }
        }
    }

    fn write(self, body: &[u8], object: &Object, patch: &mut Patch) {
        match self {
            Self::Add { min_bytes } => add::add(body, object, min_bytes, patch),
            Self::Remove => remove::remove(body, object, patch),
        }
    }
}

/// Whether the body has a breakpoint. A member of that name in the schema or the input of a tool counts, too.
fn has_breakpoints(body: &[u8]) -> bool {
    let mut from = 0;
    while let Some(value) = json::find_key(body, from, &KEY) {
        if !body[value..].starts_with(b"null") {
            return true;
        }
        from = value;
    }
    false
}
