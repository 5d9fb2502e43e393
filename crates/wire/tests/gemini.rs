//! Gemini's generateContent: golden tests of requests and answers, and property tests.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

#[path = "gemini/given.rs"]
mod given;
#[path = "gemini/requests.rs"]
mod requests;
#[path = "gemini/round_trips.rs"]
mod round_trips;
#[path = "gemini/streams.rs"]
mod streams;
