//! Typed access to the top-level fields of a client's body: null counts as absent, faults name the field.

use std::ops::Range;

use domain::fault::{self, Fault};

use crate::json::{self, Object};

pub struct Fields<'a> {
    pub body: &'a [u8],
    pub object: &'a Object,
}

impl<'a> Fields<'a> {
    /// The field's value. Null counts as absent, as in the official clients.
    #[inline]
    pub fn value(&self, place: Option<usize>) -> Option<&'a Range<usize>> {
        let value = &self.object.members[place?].value;
        (self.text(value) != b"null").then_some(value)
    }

    pub fn text(&self, value: &Range<usize>) -> &'a [u8] {
        &self.body[value.clone()]
    }

    #[inline]
    pub fn string(&self, place: Option<usize>, name: &'static str) -> Result<Option<String>, Fault> {
        let Some(value) = self.value(place) else { return Ok(None) };
        match json::string_at(self.body, value) {
            Some(text) => Ok(Some(text.into_owned())),
            None => Err(fault::invalid_parameter(name, format!("'{name}' must be a string."))),
        }
    }

    /// A string field; `None` if the value has another type.
    #[inline]
    pub fn hint(&self, place: Option<usize>) -> Option<String> {
        json::string_at(self.body, &self.object.members[place?].value).map(|text| text.into_owned())
    }

    #[inline]
    pub fn boolean(&self, place: Option<usize>, name: &'static str) -> Result<Option<bool>, Fault> {
        match self.value(place).map(|value| self.text(value)) {
            None => Ok(None),
            Some(b"true") => Ok(Some(true)),
            Some(b"false") => Ok(Some(false)),
            Some(_) => Err(fault::invalid_parameter(name, format!("'{name}' must be true or false."))),
        }
    }

    #[inline]
    pub fn positive(&self, place: Option<usize>, name: &'static str) -> Result<Option<u64>, Fault> {
        let Some(value) = self.value(place) else { return Ok(None) };
        match whole_number(self.text(value)) {
            Some(number) if number > 0 => Ok(Some(number)),
            _ => Err(fault::invalid_parameter(name, format!("'{name}' must be a whole number above 0."))),
        }
    }

    /// Requires a non-empty array.
    pub fn filled(&self, place: Option<usize>, name: &'static str, element: &str) -> Result<(), Fault> {
        let filled = self.value(place).is_some_and(|value| {
            let inside = self.text(value).strip_prefix(b"[").map(|rest| rest.trim_ascii_start());
            inside.is_some_and(|rest| !rest.starts_with(b"]"))
        });
        if filled {
            return Ok(());
        }
        Err(fault::invalid_parameter(name, format!("'{name}' must be an array with at least one {element}.")))
    }

    #[inline]
    pub fn within(
        &self,
        place: Option<usize>,
        name: &'static str,
        range: std::ops::RangeInclusive<f64>,
    ) -> Result<(), Fault> {
        let Some(value) = self.value(place) else { return Ok(()) };
        match number(self.text(value)) {
            Some(found) if range.contains(&found) => Ok(()),
            _ => {
                let (low, high) = range.into_inner();
                let message = format!("'{name}' must be a number from {low} to {high}.");
                Err(fault::invalid_parameter(name, message))
            }
        }
    }
}

/// Parses a JSON number that is written with digits only.
fn whole_number(text: &[u8]) -> Option<u64> {
    let append = |number: u64, byte: &u8| {
        let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'))?;
        number.checked_mul(10)?.checked_add(digit)
    };
    text.iter().try_fold(0, append)
}

/// Parses a JSON number. Rust would also accept `inf` and the like, but the scanner has rejected those before.
pub fn number(text: &[u8]) -> Option<f64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}
