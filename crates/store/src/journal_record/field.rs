//! The JSON form of a field, by its type, in the details of a receipt and in audit rows. Default values are left out.

use domain::money::Nanos;
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

impl RecordField for bool {
    #[inline]
    fn write(&self, key: &'static str, object: &mut Object<'_>) {
        object.flag(key, *self);
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

impl RecordField for Option<Nanos> {
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
