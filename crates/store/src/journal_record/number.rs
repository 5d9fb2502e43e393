//! Field numbers of the binary encoding. All are permanent: a number never changes its meaning and is not used again.
//!
//! Numbers are from 1 to 126. Those of a receipt's fields are part of their declaration in `receipt_fields!`, and those
//! of the token buckets of theirs in `declare_buckets!`.

use domain::receipt_fields;

macro_rules! define_numbers {
    ($($name:ident = $number:literal,)*) => {
        #[expect(dead_code, reason = "only the fields that are encoded by hand are used by name")]
        struct Numbers {
            $($name: u8,)*
        }

        const DECLARED: Numbers = Numbers { $($name: $number,)* };

        #[cfg(test)]
        const ALL_DECLARED: &[(&str, u8)] = &[$((stringify!($name), $number)),*];
    };
}
receipt_fields!(number => define_numbers);

// The fields of columns, labels and openings that are encoded by hand.
pub(crate) const ID: u8 = DECLARED.id;
pub(crate) const USAGE: u8 = DECLARED.usage;
pub(crate) const COST: u8 = DECLARED.cost;
pub(crate) const UNBOOKED: u8 = DECLARED.unbooked;
// Of openings only.
pub(super) const AUDITED: u8 = 125;
pub(super) const FOLLOW: u8 = 126;

/// The sections of a receipt.
pub(super) mod section {
    pub const COLUMNS: u8 = 1;
    pub const LABEL: u8 = 2;
    pub const DETAIL: u8 = 3;
    pub const AUDIT: u8 = 4;
}

/// The fields of a usage, besides those of the token buckets.
pub(super) mod usage {
    pub const ESTIMATED: u8 = 32;
    pub const REPORTED_COST: u8 = 33;
    pub const CAVEAT: u8 = 34;
}

/// The fields of a cost.
pub(super) mod cost {
    pub const INPUT: u8 = 1;
    pub const OUTPUT: u8 = 2;
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use domain::usage::Tokens;

    use super::*;

    /// Only ever extended: journals contain these numbers.
    const PERMANENT: &[(&str, u8)] = &[
        ("id", 1),
        ("request_id", 2),
        ("at", 3),
        ("method", 4),
        ("endpoint", 5),
        ("requested_model", 6),
        ("model", 7),
        ("provider", 8),
        ("provider_name", 9),
        ("provider_id", 10),
        ("user_path", 11),
        ("auth_key_id", 12),
        ("tenant_id", 13),
        ("session_id", 14),
        ("run_id", 15),
        ("auth_method", 16),
        ("client_ip", 17),
        ("user_agent", 18),
        ("cache_type", 19),
        ("stream", 20),
        ("status", 21),
        ("error_type", 22),
        ("error_code", 23),
        ("error_message", 24),
        ("duration_us", 25),
        ("first_byte_us", 26),
        ("overhead_us", 27),
        ("attempts", 28),
        ("resumed", 29),
        ("usage", 30),
        ("cost", 31),
        ("cost_source", 32),
        ("raw_usage", 33),
        ("interrupted", 34),
        ("pricing_version", 35),
        ("alias_used", 36),
        ("response_id", 37),
        ("previous_response_id", 38),
        ("unbooked", 39),
        ("trace", 40),
        ("workflow_version_id", 41),
        ("saved_cost", 42),
        ("cache_miss", 43),
        ("prompt_cache_savings", 44),
        ("subject", 45),
    ];
    const BUCKETS: &[(&str, u8)] = &[
        ("input", 1),
        ("cache_read", 2),
        ("cache_write_5m", 3),
        ("cache_write_1h", 4),
        ("audio_input", 5),
        ("output", 6),
        ("reasoning", 7),
        ("audio_output", 8),
    ];

    #[test]
    fn field_numbers_are_permanent() {
        let buckets: Vec<_> = Tokens::BUCKETS.into_iter().zip(Tokens::NUMBERS).collect();
        for (permanent, declared) in [(PERMANENT, ALL_DECLARED), (BUCKETS, &buckets)] {
            let numbers: BTreeSet<u8> = permanent.iter().map(|(_, number)| *number).collect();
            assert_eq!(numbers.len(), permanent.len(), "a number is used twice");
            for field in declared {
                assert!(
                    permanent.contains(field),
                    "{field:?}: add a new field to the list, with the next number"
                );
            }
        }
        assert!(ALL_DECLARED.iter().all(|(_, number)| (1..AUDITED).contains(number)));
        assert!(Tokens::NUMBERS.iter().all(|number| (1..usage::ESTIMATED).contains(number)));
    }
}
