//! The reader of the parts of a model file.

/// The reason why a model file cannot be read, without its path.
#[derive(Clone, Copy, Debug)]
pub struct Damage(pub &'static str);

const TRUNCATED: Damage = Damage("it is truncated");

/// The rest of a model file.
pub struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub fn take(&mut self, count: usize) -> Result<&'a [u8], Damage> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or(TRUNCATED)?;
        self.0 = rest;
        Ok(taken)
    }

    pub fn number(&mut self) -> Result<u32, Damage> {
        let (number, rest) = self.0.split_first_chunk().ok_or(TRUNCATED)?;
        self.0 = rest;
        Ok(u32::from_le_bytes(*number))
    }

    /// A text behind its length.
    pub fn sized_text(&mut self) -> Result<&'a str, Damage> {
        let length = self.number()? as usize;
        std::str::from_utf8(self.take(length)?).map_err(|_| Damage("its text is not valid"))
    }

    pub fn integers(&mut self, count: usize) -> Result<Vec<i8>, Damage> {
        Ok(self.take(count)?.iter().map(|byte| byte.cast_signed()).collect())
    }

    pub fn floats(&mut self, count: usize) -> Result<Vec<f32>, Damage> {
        let bytes = self.take(count * 4)?;
        Ok(bytes.as_chunks().0.iter().map(|number| f32::from_le_bytes(*number)).collect())
    }

    pub fn expect_end(&self) -> Result<(), Damage> {
        if self.0.is_empty() { Ok(()) } else { Err(Damage("it is longer than its header says")) }
    }
}
