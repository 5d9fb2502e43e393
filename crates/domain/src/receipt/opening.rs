//! The opening record of a call: the fields of its receipt that are known before it is sent to a provider.

use std::fmt::Debug;

use serde::{Deserialize, Serialize};

use super::{CostSource, Receipt};
use crate::clock::Timestamp;
use crate::fault::{FaultCode, FaultKind};
use crate::money::Cost;
use crate::receipt_fields;
use crate::usage::Usage;

/// The type of a field that openings have in common with receipts.
pub trait OpeningField {
    type Ref<'a>: Copy + Debug
    where
        Self: 'a;

    fn by_ref(&self) -> Self::Ref<'_>;
}

impl OpeningField for String {
    type Ref<'a> = &'a str;

    fn by_ref(&self) -> &str {
        self
    }
}

impl OpeningField for Option<String> {
    type Ref<'a> = Option<&'a str>;

    fn by_ref(&self) -> Option<&str> {
        self.as_deref()
    }
}

impl OpeningField for Timestamp {
    type Ref<'a> = Self;

    fn by_ref(&self) -> Self {
        *self
    }
}

impl OpeningField for bool {
    type Ref<'a> = Self;

    fn by_ref(&self) -> Self {
        *self
    }
}

macro_rules! define_opening {
    ($($(#[$attribute:meta])* $name:ident: $type:ty = $number:literal,)*) => {
        /// The record written before a call is sent to a provider; after a crash, the only trace of the call.
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
        #[serde(default)]
        pub struct Opening {
            $($(#[$attribute])* pub $name: $type,)*
            /// The usage charged if the call is never completed.
            pub reserved: Usage,
            pub reserved_cost: Option<Cost>,
            /// True if usage is not recorded: the call is only for the audit log.
            pub unbooked: bool,
            /// True if the call gets an entry in the audit log.
            pub audited: bool,
            /// The id of the background response that the call started. The provider is polled for its result, also by
            /// a process that takes over the journal.
            pub follow: Option<String>,
        }

        /// An opening record as written to the journal, borrowed from its receipt.
        #[derive(Clone, Copy, Debug)]
        pub struct OpeningRef<'a> {
            $($(#[$attribute])* pub $name: <$type as OpeningField>::Ref<'a>,)*
            pub reserved: &'a Usage,
            pub reserved_cost: Option<Cost>,
            pub unbooked: bool,
            pub audited: bool,
            pub follow: Option<&'a str>,
        }

        impl Opening {
            pub fn as_ref(&self) -> OpeningRef<'_> {
                OpeningRef {
                    $($name: self.$name.by_ref(),)*
                    reserved: &self.reserved,
                    reserved_cost: self.reserved_cost,
                    unbooked: self.unbooked,
                    audited: self.audited,
                    follow: self.follow.as_deref(),
                }
            }
        }

        impl Receipt {
            /// The opening record, written before the call is sent to its target.
            pub fn opening<'a>(&'a self, reserved: &'a Usage, reserved_cost: Option<Cost>) -> OpeningRef<'a> {
                OpeningRef {
                    $($name: self.$name.by_ref(),)*
                    reserved,
                    reserved_cost,
                    unbooked: self.unbooked,
                    audited: self.audit.is_some(),
                    follow: None,
                }
            }

            /// The receipt of an opening without a close: charged at its reservation and marked as interrupted.
            pub fn interrupted(opening: Opening) -> Self {
                let has_key = opening.auth_key_id.is_some();
                let is_priced = opening.reserved_cost.is_some();
                let mut receipt = Self {
                    $($name: opening.$name,)*
                    method: "POST".into(),
                    auth_method: if has_key { "api_key" } else { "master_key" }.into(),
                    status: 500,
                    error_type: Some(FaultKind::Internal.as_str().into()),
                    error_code: Some(FaultCode::Interrupted.to_string()),
                    usage: Usage { estimated: true, ..opening.reserved },
                    cost: opening.reserved_cost,
                    cost_source: if is_priced { CostSource::ModelPricing } else { CostSource::None },
                    interrupted: true,
                    unbooked: opening.unbooked,
                    audit: opening.audited.then(Box::default),
                    ..Self::default()
                };
                receipt.flag_unpriced();
                receipt
            }
        }
    };
}
receipt_fields!(opening => define_opening);
