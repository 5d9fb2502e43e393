//! A writer of small ONNX files with int8 weights, in the form of the classifier's package.

use crate::random_model::{CONFIG, RandomTensors};

const FLOAT: u64 = 1;
const UINT8: u64 = 2;
const INT8: u64 = 3;

/// Writes the tensors of a model as an ONNX file.
pub fn write(tensors: &RandomTensors) -> Vec<u8> {
    let mut graph = Vec::new();
    for (number, (name, tensor)) in tensors.0.iter().enumerate() {
        let own = format!("base.{name}");
        let module = name.strip_suffix(".weight");
        match module {
            Some(module) if module.starts_with("encoder") && !module.ends_with("LayerNorm") => {
                let matrix = format!("onnx::MatMul_{number}");
                let rows = tensors.0[&format!("{module}.bias")].len();
                matrix_tensors(&mut graph, &matrix, tensor, rows);
                let path = module.replace('.', "/").replace("layer/", "layer.");
                let output = format!("/base/{path}/MatMul_output_0_output_quantized");
                product(&mut graph, &matrix, &output);
            }
            Some(module) if module.ends_with("_embeddings") => table_tensors(&mut graph, &own, tensor),
            Some(module) if module.ends_with("_head") => matrix_tensors(&mut graph, name, tensor, 1),
            _ if name.contains("_head") => float_tensor(&mut graph, name, tensor),
            _ => float_tensor(&mut graph, &own, tensor),
        }
    }
    let mut model = Vec::new();
    number_field(&mut model, 1, 8);
    bytes_field(&mut model, 7, &graph);
    model
}

/// A matrix with a scale per output. Stored with a column per output.
fn matrix_tensors(graph: &mut Vec<u8>, name: &str, rows: &[f32], outputs: usize) {
    let inputs = rows.len() / outputs;
    let scales: Vec<f32> = rows
        .chunks(inputs)
        .map(|row| row.iter().fold(0.0_f32, |largest, number| largest.max(number.abs())) / 127.0)
        .collect();
    let mut raw = Vec::new();
    for input in 0..inputs {
        let integer = |output: usize| (rows[output * inputs + input] / scales[output]).round() as i8;
        raw.extend((0..outputs).map(|output| integer(output).cast_unsigned()));
    }
    raw_tensor(graph, &format!("{name}_quantized"), INT8, &[inputs as u64, outputs as u64], &raw);
    let mut scale = Vec::new();
    let packed: Vec<u8> = scales.iter().flat_map(|number| number.to_le_bytes()).collect();
    number_field(&mut scale, 1, outputs as u64);
    number_field(&mut scale, 2, FLOAT);
    bytes_field(&mut scale, 4, &packed);
    bytes_field(&mut scale, 8, format!("{name}_scale").as_bytes());
    bytes_field(graph, 5, &scale);
    let mut zero = Vec::new();
    number_field(&mut zero, 2, INT8);
    bytes_field(&mut zero, 5, &vec![0; outputs]);
    bytes_field(&mut zero, 8, format!("{name}_zero_point").as_bytes());
    bytes_field(graph, 5, &zero);
}

/// A table with one scale and a zero point.
fn table_tensors(graph: &mut Vec<u8>, name: &str, rows: &[f32]) {
    const ZERO: u64 = 128;
    let scale = rows.iter().fold(0.0_f32, |largest, number| largest.max(number.abs())) / 127.0;
    let raw: Vec<u8> = rows.iter().map(|number| ((number / scale).round() + ZERO as f32) as u8).collect();
    let dimensions = [(rows.len() / CONFIG.hidden) as u64, CONFIG.hidden as u64];
    raw_tensor(graph, &format!("{name}_quantized"), UINT8, &dimensions, &raw);
    let mut tensor = Vec::new();
    number_field(&mut tensor, 2, FLOAT);
    tensor.extend([4 << 3 | 5]);
    tensor.extend(scale.to_le_bytes());
    bytes_field(&mut tensor, 8, format!("{name}_scale").as_bytes());
    bytes_field(graph, 5, &tensor);
    let mut zero = Vec::new();
    number_field(&mut zero, 2, UINT8);
    number_field(&mut zero, 5, ZERO);
    bytes_field(&mut zero, 8, format!("{name}_zero_point").as_bytes());
    bytes_field(graph, 5, &zero);
}

fn float_tensor(graph: &mut Vec<u8>, name: &str, numbers: &[f32]) {
    let raw: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
    raw_tensor(graph, name, FLOAT, &[numbers.len() as u64], &raw);
}

fn raw_tensor(graph: &mut Vec<u8>, name: &str, data_type: u64, dimensions: &[u64], raw: &[u8]) {
    let mut tensor = Vec::new();
    dimensions.iter().for_each(|dimension| number_field(&mut tensor, 1, *dimension));
    number_field(&mut tensor, 2, data_type);
    bytes_field(&mut tensor, 8, name.as_bytes());
    bytes_field(&mut tensor, 9, raw);
    bytes_field(graph, 5, &tensor);
}

fn product(graph: &mut Vec<u8>, matrix: &str, output: &str) {
    let mut node = Vec::new();
    bytes_field(&mut node, 1, b"input");
    bytes_field(&mut node, 1, format!("{matrix}_quantized").as_bytes());
    bytes_field(&mut node, 2, output.as_bytes());
    bytes_field(&mut node, 4, b"MatMulInteger");
    bytes_field(graph, 1, &node);
}

fn number_field(message: &mut Vec<u8>, field: u64, number: u64) {
    varint(message, field << 3);
    varint(message, number);
}

fn bytes_field(message: &mut Vec<u8>, field: u64, bytes: &[u8]) {
    varint(message, field << 3 | 2);
    varint(message, bytes.len() as u64);
    message.extend_from_slice(bytes);
}

fn varint(message: &mut Vec<u8>, mut number: u64) {
    while number > 0x7F {
        message.push(number as u8 | 0x80);
        number >>= 7;
    }
    message.push(number as u8);
}
