//! The recorded form of a field, by its type. Default values are left out.

use domain::clock::Timestamp;
use domain::receipt::{CostSource, TraceContext};
use serde_json::value::RawValue;

use super::object::Object;

pub(crate) trait RecordField {
    fn write(&self, key: &'static str, object: &mut Object<'_>);
}

impl RecordField for String {
    #[inline]
    fn write(&self, key: &'static str, object: &mut Object<'_>) {
        if !self.is_empty() {
            object.text(key, self);
        }
    }
}

impl RecordField for Option<String> {
    #[inline]
    fn write(&self, key: &'static str, object: &mut Object<'_>) {
        object.some_text(key, self.as_deref());
    }
}

/// Text of an opening. Empty text is written too: earlier builds require the key.
impl RecordField for &str {
    #[inline]
    fn write(&self, key: &'static str, object: &mut Object<'_>) {
        object.text(key, self);
    }
}

impl RecordField for Option<&str> {
    #[inline]
    fn write(&self, key: &'static str, object: &mut Object<'_>) {
        object.some_text(key, *self);
    }
}

impl RecordField for Timestamp {
    #[inline]
    fn write(&self, key: &'static str, object: &mut Object<'_>) {
        object.integer(key, self.micros());
    }
}

impl RecordField for bool {
    #[inline]
    fn write(&self, key: &'static str, object: &mut Object<'_>) {
        object.flag(key, *self);
    }
}

impl RecordField for u16 {
    #[inline]
    fn write(&self, key: &'static str, object: &mut Object<'_>) {
        object.count(key, (*self).into());
    }
}

impl RecordField for u32 {
    #[inline]
    fn write(&self, key: &'static str, object: &mut Object<'_>) {
        object.count(key, (*self).into());
    }
}

impl RecordField for u64 {
    #[inline]
    fn write(&self, key: &'static str, object: &mut Object<'_>) {
        object.count(key, *self);
    }
}

impl RecordField for Option<u64> {
    #[inline]
    fn write(&self, key: &'static str, object: &mut Object<'_>) {
        object.some(key, self.as_ref());
    }
}

impl RecordField for CostSource {
    #[inline]
    fn write(&self, key: &'static str, object: &mut Object<'_>) {
        if *self != Self::None {
            object.text(key, self.as_str());
        }
    }
}

impl RecordField for Option<TraceContext> {
    #[inline]
    fn write(&self, key: &'static str, object: &mut Object<'_>) {
        object.some(key, self.as_ref());
    }
}

impl RecordField for Option<Box<RawValue>> {
    #[inline]
    fn write(&self, key: &'static str, object: &mut Object<'_>) {
        if let Some(raw) = self {
            object.one_line(key, raw.get());
        }
    }
}
