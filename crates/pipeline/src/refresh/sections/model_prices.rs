//! Prices set by the operator. The catalogue's price applies instead of one that does not compile.

use domain::resources::model_price::ModelPrice;
use store::Stored;

use crate::snapshot::section::Section;

pub struct ModelPrices;

impl Section for ModelPrices {
    type Document = ModelPrice;
    /// The price and the revision of its document, which receipts record.
    type Compiled = (ModelPrice, i64);

    fn compile(document: Stored<ModelPrice>) -> Result<(ModelPrice, i64), String> {
        Ok((document.value, document.revision))
    }

    fn fallback(_selector: &str) -> Option<(ModelPrice, i64)> {
        None
    }
}
