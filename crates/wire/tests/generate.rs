//! Gemini's generateContent: golden tests of requests and answers, and property tests.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

#[path = "generate/given.rs"]
mod given;
#[path = "generate/requests.rs"]
mod requests;
#[path = "generate/round_trips.rs"]
mod round_trips;
#[path = "generate/streams.rs"]
mod streams;
