//! Accuracy on a generated corpus, and time that grows no faster than the text.

mod accuracy;
mod linear_time;
mod other_api_keys;
mod samples;
