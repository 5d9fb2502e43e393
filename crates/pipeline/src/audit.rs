//! What the audit log keeps of a call beside its receipt: headers and bodies, redacted and cut to size.

/// What is kept, from the settings.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rules {
    pub enabled: bool,
    pub bodies: bool,
    pub headers: bool,
}
