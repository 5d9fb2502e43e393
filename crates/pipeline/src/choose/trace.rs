//! Strategies on a simulated trace.
