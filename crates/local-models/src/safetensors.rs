//! The tensors of a safetensors file: a length, a JSON header and the numbers.

use std::collections::HashMap;

use serde::Deserialize;

use crate::error::ModelError;
use crate::weights::TensorSource;

/// The tensors of a safetensors file, by name.
pub struct SafeTensors<'a> {
    entries: HashMap<String, Entry>,
    numbers: &'a [u8],
}

#[derive(Deserialize)]
struct Entry {
    #[serde(default)]
    dtype: String,
    #[serde(default)]
    data_offsets: [usize; 2],
}

impl<'a> SafeTensors<'a> {
    pub fn parse(file: &'a [u8]) -> Result<Self, ModelError> {
        let invalid = || ModelError::new("The safetensors file is damaged: its header is not valid.");
        let (length, rest) = file.split_first_chunk().ok_or_else(invalid)?;
        let length = usize::try_from(u64::from_le_bytes(*length)).map_err(|_| invalid())?;
        let (header, numbers) = rest.split_at_checked(length).ok_or_else(invalid)?;
        let entries = serde_json::from_slice(header).map_err(|_| invalid())?;
        Ok(Self { entries, numbers })
    }
}

impl TensorSource for SafeTensors<'_> {
    fn tensor(&self, name: &str) -> Result<Vec<f32>, ModelError> {
        let missing = || ModelError::new(format!("The safetensors file has no tensor {name}."));
        let entry = self.entries.get(name).ok_or_else(missing)?;
        if entry.dtype != "F32" {
            let found = &entry.dtype;
            return Err(ModelError::new(format!(
                "The tensor {name} has numbers of type {found} instead of F32."
            )));
        }
        let [start, end] = entry.data_offsets;
        let truncated =
            || ModelError::new(format!("The safetensors file is truncated: {name} is not complete."));
        let bytes = self.numbers.get(start..end).ok_or_else(truncated)?;
        Ok(bytes.as_chunks().0.iter().map(|number| f32::from_le_bytes(*number)).collect())
    }
}
