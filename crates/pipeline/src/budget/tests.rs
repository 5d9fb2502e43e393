//! Tests of the budgets.
