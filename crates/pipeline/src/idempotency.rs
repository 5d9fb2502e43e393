//! Station: the same call once. A client that repeats an `Idempotency-Key` gets the answer it would have got.

/// The keys that are being answered in this process.
#[derive(Default)]
pub struct Claims {}
