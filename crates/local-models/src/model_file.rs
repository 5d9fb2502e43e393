//! The file of an imported model: header, vocabulary, weights, checksum.
//!
//! Numbers are little-endian. The weights have no names: their order and their sizes follow from the header.
//!
//! | Part | Size |
//! |---|---|
//! | magic number, format version | 8 + 4 bytes |
//! | header as JSON, behind its length | 4 + n bytes |
//! | vocabulary, one piece per line, behind its length | 4 + n bytes |
//! | weights: floats, and int8 matrices with their scales | |
//! | CRC-32 of everything before it | 4 bytes |

use std::fs;
use std::path::Path;

use crate::bert::Bert;
use crate::config::BertConfig;
use crate::error::ModelError;
use crate::header::{ModelHeader, ModelKind};
use crate::layer_math::LayerNorm;
use crate::linear::Linear;
use crate::model_reader::{Damage, Reader};
use crate::model_writer::Writer;
use crate::tokenizer::Tokenizer;
use crate::weights::{BertWeights, Head, LayerWeights, WordTable};

const MAGIC: &[u8; 8] = b"GHMODEL\n";
const FORMAT: u32 = 1;
/// The size of the checksum at the end.
const CHECKSUM: usize = 4;

/// A model before it is written.
pub struct ModelContent {
    pub header: ModelHeader,
    pub vocabulary: String,
    pub weights: BertWeights,
    /// The heads of a classifier: the one that is used, and the auxiliary one.
    pub heads: Vec<Head>,
}

/// A model that is ready to run.
pub struct LoadedModel {
    pub header: ModelHeader,
    pub tokenizer: Tokenizer,
    pub bert: Bert,
    pub heads: Vec<Head>,
}

/// The number of heads of a model.
fn heads_of(kind: ModelKind) -> usize {
    match kind {
        ModelKind::Encoder => 0,
        ModelKind::InjectionClassifier => 2,
    }
}

/// Writes a model in the format of its file.
pub fn encode(content: &ModelContent) -> Result<Vec<u8>, ModelError> {
    let header = serde_json::to_vec(&content.header).map_err(|error| ModelError::new(error.to_string()))?;
    let mut writer = Writer::default();
    writer.bytes(MAGIC);
    writer.number(FORMAT);
    writer.sized(&header);
    writer.sized(content.vocabulary.as_bytes());
    let weights = &content.weights;
    writer.integers(&weights.words.numbers);
    writer.floats(&weights.words.scales);
    writer.floats(&weights.positions);
    writer.norm(&weights.norm);
    for layer in &weights.layers {
        for linear in [&layer.query, &layer.key, &layer.value, &layer.attention_output] {
            writer.linear(linear);
        }
        writer.norm(&layer.attention_norm);
        writer.linear(&layer.intermediate);
        writer.linear(&layer.output);
        writer.norm(&layer.output_norm);
    }
    for head in &content.heads {
        writer.floats(&head.weights);
        writer.floats(&[head.bias]);
    }
    Ok(writer.finish())
}

/// Reads the header of a model file, without its weights and its checksum.
pub fn read_header(path: &Path) -> Result<ModelHeader, ModelError> {
    use std::io::Read as _;
    /// More than any header.
    const HEAD: u64 = 64 * 1024;
    let mut head = Vec::new();
    let file = fs::File::open(path).map_err(|error| ModelError::io(path, "read", error))?;
    file.take(HEAD).read_to_end(&mut head).map_err(|error| ModelError::io(path, "read", error))?;
    decode_header(&mut Reader::new(&head)).map_err(|Damage(reason)| ModelError::damaged(path, reason))
}

/// Reads a model file.
pub fn load(path: &Path) -> Result<LoadedModel, ModelError> {
    let content = fs::read(path).map_err(|error| ModelError::io(path, "read", error))?;
    let damaged = |Damage(reason)| ModelError::damaged(path, reason);
    let body = check_sum(&content).map_err(damaged)?;
    let mut reader = Reader::new(body);
    let header = decode_header(&mut reader).map_err(damaged)?;
    let vocabulary = reader.sized_text().map_err(damaged)?;
    if vocabulary.lines().count() != header.config.vocabulary {
        return Err(damaged(Damage("its vocabulary does not have the size in its header")));
    }
    let tokenizer = Tokenizer::new(vocabulary)?;
    let weights = decode_weights(&header.config, &mut reader).map_err(damaged)?;
    let heads = (0..heads_of(header.kind)).map(|_| decode_head(header.config.hidden, &mut reader));
    let heads = heads.collect::<Result<_, _>>().map_err(damaged)?;
    reader.expect_end().map_err(damaged)?;
    let bert = Bert::new(header.config, weights);
    Ok(LoadedModel { header, tokenizer, bert, heads })
}

/// Loads a model of this kind.
pub fn load_kind(path: &Path, kind: ModelKind) -> Result<LoadedModel, ModelError> {
    let model = load(path)?;
    match model.header.kind == kind {
        true => Ok(model),
        false => {
            let found = model.header.kind;
            Err(ModelError::new(format!("{} is a {found}, not a {kind}.", path.display())))
        }
    }
}

/// The file without its checksum, if that is right.
fn check_sum(content: &[u8]) -> Result<&[u8], Damage> {
    let (body, sum) = content.split_last_chunk::<CHECKSUM>().ok_or(Damage("it is too short"))?;
    if !body.starts_with(MAGIC) {
        return Err(Damage("it does not start like one"));
    }
    match crc32fast::hash(body) == u32::from_le_bytes(*sum) {
        true => Ok(body),
        false => Err(Damage("its checksum does not match")),
    }
}

fn decode_header(reader: &mut Reader<'_>) -> Result<ModelHeader, Damage> {
    if reader.take(MAGIC.len())? != MAGIC {
        return Err(Damage("it does not start like one"));
    }
    if reader.number()? != FORMAT {
        return Err(Damage("another version of the gateway wrote it"));
    }
    let header: ModelHeader =
        serde_json::from_str(reader.sized_text()?).map_err(|_| Damage("its header is not valid"))?;
    header.fault().map_or(Ok(header), |reason| Err(Damage(reason)))
}

fn decode_weights(config: &BertConfig, reader: &mut Reader<'_>) -> Result<BertWeights, Damage> {
    let hidden = config.hidden;
    let numbers = reader.integers(config.vocabulary * hidden)?;
    let scales = reader.floats(config.vocabulary)?;
    let words = WordTable { numbers, scales };
    let positions = reader.floats(config.positions * hidden)?;
    let norm = decode_norm(hidden, reader)?;
    let layers = (0..config.layers).map(|_| decode_layer(config, reader)).collect::<Result<_, _>>()?;
    Ok(BertWeights { words, positions, norm, layers })
}

fn decode_layer(config: &BertConfig, reader: &mut Reader<'_>) -> Result<LayerWeights, Damage> {
    let (hidden, intermediate) = (config.hidden, config.intermediate);
    Ok(LayerWeights {
        query: decode_linear(hidden, hidden, reader)?,
        key: decode_linear(hidden, hidden, reader)?,
        value: decode_linear(hidden, hidden, reader)?,
        attention_output: decode_linear(hidden, hidden, reader)?,
        attention_norm: decode_norm(hidden, reader)?,
        intermediate: decode_linear(hidden, intermediate, reader)?,
        output: decode_linear(intermediate, hidden, reader)?,
        output_norm: decode_norm(hidden, reader)?,
    })
}

fn decode_linear(inputs: usize, outputs: usize, reader: &mut Reader<'_>) -> Result<Linear, Damage> {
    let weights = reader.integers(inputs * outputs)?;
    let scales = reader.floats(outputs)?;
    Ok(Linear::from_parts(weights, scales, reader.floats(outputs)?, inputs))
}

fn decode_norm(width: usize, reader: &mut Reader<'_>) -> Result<LayerNorm, Damage> {
    let weight = reader.floats(width)?;
    Ok(LayerNorm { weight, bias: reader.floats(width)? })
}

fn decode_head(width: usize, reader: &mut Reader<'_>) -> Result<Head, Damage> {
    let weights = reader.floats(width)?;
    Ok(Head { weights, bias: reader.floats(1)?[0] })
}
