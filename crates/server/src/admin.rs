//! The admin API, one area per file.

pub mod aliases;
pub mod audit;
pub mod auth_keys;
pub mod budgets;
pub mod cache;
pub mod changes;
pub mod combos;
pub mod config;
pub mod console;
mod crud;
pub mod dashboard;
pub mod explain;
pub mod guardrails;
pub mod model_overrides;
pub mod model_pricing;
pub mod models;
mod names;
pub mod pools;
pub mod providers;
pub mod recalculation;
pub mod record;
pub mod runtime;
pub mod settings;
pub mod unpriced;
pub mod usage;
mod watch;
pub mod workflows;
