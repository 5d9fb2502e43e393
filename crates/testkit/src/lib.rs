//! Test support: a scripted upstream that keeps its own bill, a Redis server, a manual clock, seeded randomness,
//! complete receipts, vectors of texts. A development dependency only.

#![expect(clippy::expect_used, reason = "a test rig that cannot be set up stops the test at once")]

mod clock;
mod entropy;
mod receipt;
mod redis_server;
mod upstream;
mod word_vector;

pub use clock::{ManualClock, SystemClock};
pub use entropy::SeededEntropy;
pub use receipt::{assert_shown_except, complete_receipt};
pub use redis_server::RedisServer;
pub use upstream::{
    Answer, BillLine, Billed, FaultScript, RESUMABLE_TEXT, Recorded, Step, TEXT_BEFORE_CALLS, TlsIdentity,
    Upstream,
};
pub use word_vector::word_vector;
