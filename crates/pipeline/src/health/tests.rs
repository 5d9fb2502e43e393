//! Tests of a target on a simulated clock.
