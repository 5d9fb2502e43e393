//! Guardrails as pure functions of text: normalisation, patterns, personal data, redaction and injection rules.
//!
//! No HTTP, no database, no runtime: the caller extracts text from messages and events and applies the edits. All
//! positions are bytes of the original text; matching runs on its normal form, so that full-width digits or zero-width
//! characters hide nothing.
//!
//! # Compile once
//!
//! [`pii::detector`] compiles the rules of some [kinds](kind::PiiKind), [`patterns::PatternSet::compile`] the patterns of
//! a configuration. Both make a [`detector::Detector`], which is shared by all calls. A [`placeholder::Masker`] belongs to
//! one call: it chooses replacements, counts findings, and keeps the values behind reversible placeholders.
//!
//! # Whole texts
//!
//! [`Detector::find_all`](detector::Detector::find_all) reports findings, [`redact::redact`] edits that replace them:
//!
//! ```
//! use guardrails::kind::PiiKind;
//! use guardrails::placeholder::{MaskStyle, Masker};
//! use guardrails::redact::{apply, redact};
//!
//! let kinds: Vec<PiiKind> = PiiKind::defaults().collect();
//! let detector = guardrails::pii::detector(&kinds)?;
//! let text = "Write to ana@example.com.";
//! assert!(detector.is_match(text, "")?);
//!
//! let mut masker = Masker::new(MaskStyle::Kind);
//! let edits = redact(&detector, text, "", &mut masker)?;
//! assert_eq!((edits.len(), edits[0].range.clone()), (1, 9..24));
//! assert_eq!(apply(text, &edits), "Write to [EMAIL].");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Streams of text deltas
//!
//! One [`stream::StreamRedactor`] for each block of each choice. It holds back only text that may still become a match;
//! `finish` decides about the rest when the block ends. On an error the held text is dropped with the redactor.
//!
//! ```
//! # use std::sync::Arc;
//! # use guardrails::kind::PiiKind;
//! # use guardrails::placeholder::{MaskStyle, Masker};
//! use guardrails::stream::StreamRedactor;
//!
//! # let detector = Arc::new(guardrails::pii::detector(&[PiiKind::Email])?);
//! let mut masker = Masker::new(MaskStyle::Kind);
//! let mut redactor = StreamRedactor::new(detector);
//! let mut delta = String::new();
//! redactor.push("Write to ana@exam", &mut masker, &mut delta)?;
//! assert_eq!(delta, "Write to ");
//! redactor.push("ple.com.", &mut masker, &mut delta)?;
//! redactor.finish(&mut masker, &mut delta)?;
//! assert_eq!(delta, "Write to [EMAIL].");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Tool arguments
//!
//! [`json_strings::redact_json`] takes the whole arguments of a tool call, [`json_strings::JsonStringRedactor`] their
//! deltas. The result is JSON if the arguments are. Keys are not rewritten; findings in them are reported.
//!
//! ```
//! # use std::sync::Arc;
//! # use guardrails::kind::PiiKind;
//! # use guardrails::placeholder::{MaskStyle, Masker};
//! use guardrails::json_strings::redact_json;
//!
//! # let detector = Arc::new(guardrails::pii::detector(&[PiiKind::CreditCard])?);
//! let mut masker = Masker::new(MaskStyle::Kind);
//! let redacted = redact_json(&detector, r#"{"card": 4111111111111111, "n": 2}"#, &mut masker)?;
//! assert_eq!(redacted.text, r#"{"card": "[CREDIT_CARD]", "n": 2}"#);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Reversible placeholders
//!
//! [`placeholder::MaskStyle::Reversible`] makes placeholders that are stable within a scope. [`restore::restore`] and
//! [`restore::Restorer`] put the values of the call's own map back into its answer.
//!
//! ```
//! # use std::sync::Arc;
//! # use guardrails::kind::PiiKind;
//! use guardrails::placeholder::{MaskStyle, Masker, ScopeKey};
//! use guardrails::restore::{RestoreTarget, restore};
//! # use guardrails::redact::{apply, redact};
//!
//! # let detector = guardrails::pii::detector(&[PiiKind::Email])?;
//! # let text = "Write to ana@example.com.";
//! let mut masker = Masker::new(MaskStyle::Reversible(ScopeKey::new(&[7; 32])));
//! let request = apply(text, &redact(&detector, text, "", &mut masker)?);
//! assert!(request.starts_with("Write to [EMAIL_"));
//! let map = Arc::new(masker.into_map());
//! assert_eq!(restore(&request, &map, RestoreTarget::Text).text, text);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Prompt injection
//!
//! [`injection::InjectionRules::assess`] scores a text; [`injection::Sensitivity`] has the thresholds.

mod automaton;
pub mod detector;
pub mod injection;
pub mod json_strings;
pub mod kind;
pub mod normalise;
pub mod patterns;
pub mod pii;
pub mod placeholder;
pub mod redact;
pub mod restore;
pub mod stream;
