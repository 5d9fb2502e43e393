//! The tensors of an ONNX file with int8 weights.

use std::collections::HashMap;

use crate::error::ModelError;
use crate::protobuf::{Fields, Value, varint};
use crate::weights::TensorSource;

/// The prefix of the encoder's tensors.
const ENCODER: &str = "base";

/// The tensors of an ONNX file, by name.
pub struct OnnxTensors<'a> {
    tensors: HashMap<&'a str, Tensor<'a>>,
    /// The names of the matrices of products, by the names of their results.
    products: HashMap<&'a str, &'a str>,
}

/// A tensor as it is stored.
#[derive(Default)]
struct Tensor<'a> {
    dimensions: Vec<usize>,
    data_type: u64,
    /// Little-endian numbers.
    raw: &'a [u8],
    /// Numbers of scalars and short lists, which are stored in fields of their own.
    floats: Vec<f32>,
    integers: Vec<u64>,
}

impl<'a> OnnxTensors<'a> {
    pub fn parse(file: &'a [u8]) -> Result<Self, ModelError> {
        const GRAPH: u64 = 7;
        const NODE: u64 = 1;
        const INITIALIZER: u64 = 5;
        let mut found = Self { tensors: HashMap::new(), products: HashMap::new() };
        let mut model = Fields::new(file);
        while let Some((number, value)) = model.next() {
            let (GRAPH, Value::Bytes(graph)) = (number, value) else { continue };
            let mut graph = Fields::new(graph);
            for (number, value) in graph.by_ref() {
                match (number, value) {
                    (NODE, Value::Bytes(node)) => found.add_product(node),
                    (INITIALIZER, Value::Bytes(tensor)) => found.add_tensor(tensor)?,
                    _ => {}
                }
            }
            model.is_damaged |= graph.is_damaged;
        }
        match model.is_damaged || found.tensors.is_empty() {
            true => Err(ModelError::new("The ONNX file is damaged or has no weights.")),
            false => Ok(found),
        }
    }

    /// Records the matrix of a product of integers.
    fn add_product(&mut self, node: &'a [u8]) {
        let (mut inputs, mut output, mut operation) = (Vec::new(), "", "");
        for (number, value) in Fields::new(node) {
            let Value::Bytes(bytes) = value else { continue };
            let Ok(text) = std::str::from_utf8(bytes) else { continue };
            match number {
                1 => inputs.push(text),
                2 => output = text,
                4 => operation = text,
                _ => {}
            }
        }
        if let ("MatMulInteger", Some(matrix)) = (operation, inputs.get(1)) {
            self.products.insert(output, matrix);
        }
    }

    fn add_tensor(&mut self, message: &'a [u8]) -> Result<(), ModelError> {
        let mut tensor = Tensor::default();
        let mut name = "";
        for (number, value) in Fields::new(message) {
            match (number, value) {
                (1, Value::Varint(dimension)) => tensor.dimensions.push(dimension as usize),
                (1, Value::Bytes(packed)) => {
                    tensor.dimensions.extend(varints(packed).into_iter().map(|dimension| dimension as usize));
                }
                (2, Value::Varint(data_type)) => tensor.data_type = data_type,
                (4, Value::Fixed32(number)) => tensor.floats.push(f32::from_le_bytes(number)),
                (4, Value::Bytes(packed)) => tensor.floats.extend(floats(packed)),
                (5, Value::Varint(number)) => tensor.integers.push(number),
                (5, Value::Bytes(packed)) => tensor.integers.extend(varints(packed)),
                (8, Value::Bytes(bytes)) => name = std::str::from_utf8(bytes).unwrap_or_default(),
                (9, Value::Bytes(raw)) => tensor.raw = raw,
                // Field 13: the numbers are in another file.
                (13, _) => return Err(ModelError::new("The ONNX file has its weights in another file.")),
                _ => {}
            }
        }
        self.tensors.insert(name, tensor);
        Ok(())
    }

    fn get(&self, name: &str) -> Result<&Tensor<'a>, ModelError> {
        self.tensors.get(name).ok_or_else(|| ModelError::new(format!("The ONNX file has no tensor {name}.")))
    }

    /// The numbers of a quantised tensor, and its number of columns. It has one scale, or one for each column.
    fn dequantise(&self, name: &str) -> Result<(Vec<f32>, usize), ModelError> {
        let stem = name.strip_suffix("_quantized").unwrap_or(name);
        let numbers = self.get(name)?.numbers();
        let columns = self.get(name)?.dimensions.last().copied().unwrap_or(1).max(1);
        if columns > numbers.len() || !numbers.len().is_multiple_of(columns) {
            return Err(ModelError::new(format!(
                "The dimensions of the tensor {name} do not fit its numbers."
            )));
        }
        let scales = self.get(&format!("{stem}_scale"))?.numbers();
        let zeros = self.get(&format!("{stem}_zero_point"))?.numbers();
        if scales.is_empty()
            || scales.len() != zeros.len()
            || !matches!(scales.len(), 1) && scales.len() != columns
        {
            return Err(ModelError::new(format!("The scales of the tensor {name} do not fit it.")));
        }
        let scaled = numbers.iter().enumerate().map(|(index, number)| {
            let column = index % columns % scales.len();
            (number - zeros[column]) * scales[column]
        });
        Ok((scaled.collect(), columns))
    }

    /// The name of the quantised matrix of a linear layer.
    fn matrix_of(&self, layer: &str) -> Option<&'a str> {
        let path = layer.replace('.', "/").replace("layer/", "layer.");
        self.products.get(format!("/{ENCODER}/{path}/MatMul_output_0_output_quantized").as_str()).copied()
    }
}

impl TensorSource for OnnxTensors<'_> {
    fn tensor(&self, name: &str) -> Result<Vec<f32>, ModelError> {
        if let Some(matrix) = name.strip_suffix(".weight").and_then(|layer| self.matrix_of(layer)) {
            let (numbers, columns) = self.dequantise(matrix)?;
            return Ok(transpose(&numbers, columns));
        }
        for name in [format!("{ENCODER}.{name}"), name.to_owned()] {
            if let Some(tensor) = self.tensors.get(name.as_str()) {
                return Ok(tensor.numbers());
            }
            let quantised = format!("{name}_quantized");
            if self.tensors.contains_key(quantised.as_str()) {
                return Ok(self.dequantise(&quantised)?.0);
            }
        }
        Err(ModelError::new(format!("The ONNX file has no tensor {name}.")))
    }
}

impl Tensor<'_> {
    fn numbers(&self) -> Vec<f32> {
        const FLOAT: u64 = 1;
        const UINT8: u64 = 2;
        const INT8: u64 = 3;
        match self.data_type {
            FLOAT if self.raw.is_empty() => self.floats.clone(),
            FLOAT => floats(self.raw).collect(),
            UINT8 if !self.raw.is_empty() => self.raw.iter().map(|byte| f32::from(*byte)).collect(),
            INT8 if !self.raw.is_empty() => {
                self.raw.iter().map(|byte| f32::from(byte.cast_signed())).collect()
            }
            UINT8 | INT8 => self.integers.iter().map(|number| number.cast_signed() as f32).collect(),
            _ => Vec::new(),
        }
    }
}

fn floats(bytes: &[u8]) -> impl Iterator<Item = f32> {
    bytes.as_chunks().0.iter().map(|number| f32::from_le_bytes(*number))
}

fn varints(mut packed: &[u8]) -> Vec<u64> {
    std::iter::from_fn(|| varint(&mut packed)).collect()
}

/// Turns rows of `columns` numbers into columns.
fn transpose(numbers: &[f32], columns: usize) -> Vec<f32> {
    (0..columns).flat_map(|column| numbers.iter().skip(column).step_by(columns).copied()).collect()
}
