//! Documents that are used as they are stored. One that does not compile is ignored.

use std::marker::PhantomData;

use domain::resources::Resource;
use store::Stored;

use crate::snapshot::section::Section;

pub struct AsStored<T>(PhantomData<T>);

impl<T: Resource> Section for AsStored<T> {
    type Document = T;
    type Compiled = T;

    fn compile(document: Stored<T>) -> Result<T, String> {
        Ok(document.value)
    }

    fn fallback(_name: &str) -> Option<T> {
        None
    }
}
