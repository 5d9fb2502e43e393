//! The setting for cache breakpoints in requests to providers of the Messages format.

/// Whether cache breakpoints (`cache_control`) are added, forwarded or removed. Other formats have no such breakpoints, or
/// their providers cache prompts without them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PromptCacheMode {
    /// Breakpoints are added to requests without any.
    #[default]
    Auto,
    /// Only the client's breakpoints are sent.
    Manual,
    /// The client's breakpoints are removed.
    Off,
}
