//! Decisions of the semantic cache as pure functions: eligible texts, similar vectors, and the lexical veto.
//!
//! No HTTP, no database, no clock: the caller embeds texts, gives times and keeps the answers. A question is answered
//! from the cache if its text is [eligible](eligibility::check_eligible), the [index](index::VectorIndex) finds an entry
//! that [reaches](index::Match::reaches) the threshold, and the [veto](veto::check) finds no difference between the two
//! texts that an embedding cannot see:
//!
//! ```
//! use std::time::Duration;
//! use semantic_cache::index::{IndexLimits, NewEntry, VectorIndex};
//! use semantic_cache::profile::TextProfile;
//! use semantic_cache::veto::{self, Veto};
//!
//! let mut index = VectorIndex::new(IndexLimits { max_entries: 1_000, max_bytes: 1 << 20 });
//! let vector = semantic_cache::quantise::quantise(&[0.6, 0.8]).ok_or("no direction")?;
//! let expires_at = Duration::from_secs(3_600);
//! index.insert(NewEntry { id: [1; 32], partition: [7; 32], vector, expires_at, min_score: 0.0 });
//!
//! let found = index.search(&[7; 32], &[0.61, 0.79], 4, Duration::ZERO);
//! assert!(found[0].id == [1; 32] && found[0].reaches(0.95));
//!
//! let stored = TextProfile::new("How do I convert 5 km to miles?");
//! assert_eq!(veto::check(&stored, &TextProfile::new("Convert 5 kilometers to miles, please.")), Ok(()));
//! assert_eq!(veto::check(&stored, &TextProfile::new("How do I convert 5 miles to km?")), Err(Veto::Direction));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The veto knows English. In other languages it is stricter, because it does not know their function words and
//! synonyms: texts pass if they have the same words.

pub mod eligibility;
pub mod index;
mod lexicon;
pub mod profile;
pub mod quantise;
mod stem;
mod tokens;
pub mod veto;
pub mod word_overlap;
