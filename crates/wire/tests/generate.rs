//! Gemini's generateContent: goldens of what is sent and read, and properties that hold for all of it.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

#[path = "generate/given.rs"]
mod given;
#[path = "generate/requests.rs"]
mod requests;
#[path = "generate/round_trips.rs"]
mod round_trips;
#[path = "generate/streams.rs"]
mod streams;
