//! Small random models for tests, as tensors and as the files of a package.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::config::BertConfig;
use crate::error::ModelError;
use crate::weights::TensorSource;

pub const CONFIG: BertConfig =
    BertConfig { layers: 2, hidden: 16, heads: 2, intermediate: 24, vocabulary: 24, positions: 40 };

/// The vocabulary of the small models.
pub const PIECES: [&str; 24] = [
    "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "hello", "world", "un", "##aff", "##able", ",", ".", "!",
    "中", "国", "a", "##b", "##c", "cafe", "strasse", "[", "]", "cl", "##s",
];

/// Pseudo-random numbers between -1 and 1.
pub struct Numbers(u64);

impl Numbers {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> f32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 40) as f32 / (1 << 23) as f32 - 1.0
    }

    pub fn take(&mut self, count: usize) -> Vec<f32> {
        (0..count).map(|_| self.next()).collect()
    }

    /// Rows of numbers that int8 represents exactly.
    pub fn rows(&mut self, rows: usize, width: usize) -> Vec<f32> {
        let mut row = || {
            let scale = 0.002 + self.next().abs() * 0.004;
            (0..width).map(move |index| (index, scale)).collect::<Vec<_>>()
        };
        let rows: Vec<_> = (0..rows).map(|_| row()).collect();
        let mut number = |(index, scale): &(usize, f32)| {
            let integer = if *index == 0 { 127.0 } else { (self.next() * 127.0).round() };
            integer * scale
        };
        rows.iter().flatten().map(&mut number).collect()
    }
}

/// The tensors of a model, by name.
pub struct RandomTensors(pub BTreeMap<String, Vec<f32>>);

impl TensorSource for RandomTensors {
    fn tensor(&self, name: &str) -> Result<Vec<f32>, ModelError> {
        self.0.get(name).cloned().ok_or_else(|| ModelError::new(format!("no {name}")))
    }
}

impl RandomTensors {
    pub fn new(config: &BertConfig, seed: u64) -> Self {
        let BertConfig { hidden, intermediate, .. } = *config;
        let mut numbers = Numbers::new(seed);
        let mut tensors = BTreeMap::new();
        let mut linear = |name: &str, outputs: usize, inputs: usize| {
            tensors.insert(format!("{name}.weight"), numbers.rows(outputs, inputs));
            tensors.insert(format!("{name}.bias"), numbers.take(outputs));
        };
        for layer in 0..config.layers {
            let name = |part: &str| format!("encoder.layer.{layer}.{part}");
            for part in ["self.query", "self.key", "self.value", "output.dense"] {
                linear(&name(&format!("attention.{part}")), hidden, hidden);
            }
            linear(&name("intermediate.dense"), intermediate, hidden);
            linear(&name("output.dense"), hidden, intermediate);
            linear(&name("attention.output.LayerNorm"), 1, hidden);
            linear(&name("output.LayerNorm"), 1, hidden);
        }
        linear("embeddings.LayerNorm", 1, hidden);
        linear("embeddings.word_embeddings", config.vocabulary, hidden);
        linear("embeddings.position_embeddings", config.positions, hidden);
        linear("embeddings.token_type_embeddings", 2, hidden);
        linear("main_head", 1, hidden);
        linear("aux_head", 1, hidden);
        let is_norm = |name: &String| name.ends_with("LayerNorm.weight");
        let norms: Vec<String> = tensors.keys().filter(|name| is_norm(name)).cloned().collect();
        for name in norms {
            tensors.insert(name.replace(".weight", ".bias"), numbers.take(hidden));
            tensors.insert(name, numbers.take(hidden).iter().map(|number| 1.0 + number / 4.0).collect());
        }
        Self(tensors)
    }

    /// The tensors as a safetensors file.
    pub fn safetensors(&self) -> Vec<u8> {
        let mut header = serde_json::Map::new();
        let mut bytes: Vec<u8> = Vec::new();
        for (name, tensor) in &self.0 {
            let start = bytes.len();
            bytes.extend(tensor.iter().flat_map(|number| number.to_le_bytes()));
            let entry = serde_json::json!({
                "dtype": "F32", "shape": [tensor.len()], "data_offsets": [start, bytes.len()],
            });
            header.insert(name.clone(), entry);
        }
        header.insert("__metadata__".to_owned(), serde_json::json!({"format": "pt"}));
        let header = serde_json::to_vec(&header).expect("JSON");
        [&(header.len() as u64).to_le_bytes()[..], &header, &bytes].concat()
    }
}

/// Writes a package with these weights: a directory with the files that an import reads.
pub fn write_package(root: &Path, weights_name: &str, weights: &[u8]) -> PathBuf {
    let model = root.join("package").join("model");
    fs::create_dir_all(&model).expect("directory");
    let mut config = serde_json::to_value(CONFIG).expect("JSON");
    config["model_type"] = "bert".into();
    config["hidden_act"] = "gelu".into();
    let vocabulary: BTreeMap<&str, usize> = PIECES.iter().copied().zip(0..).collect();
    let tokenizer = serde_json::json!({
        "normalizer": {"type": "BertNormalizer", "lowercase": true},
        "model": {"type": "WordPiece", "continuing_subword_prefix": "##", "vocab": vocabulary},
    });
    let classifier = serde_json::json!({"calibration": {"temperatureT": 2.0}});
    let files =
        [("config.json", config), ("tokenizer.json", tokenizer), ("classifier_config.json", classifier)];
    for (name, content) in files {
        fs::write(model.join(name), content.to_string()).expect("file");
    }
    fs::write(model.join(weights_name), weights).expect("file");
    let info = root.join("package").join("package-1.2.dist-info");
    fs::create_dir_all(&info).expect("directory");
    fs::write(info.join("METADATA"), "Metadata-Version: 2.4\nName: package\nVersion: 1.2\n\nName: other\n")
        .expect("file");
    root.join("package")
}

/// The fetched package whose file starts with `name`, for tests that need real weights; `None` after a note if
/// `make models` has not fetched it.
pub fn fetched_package(name: &str) -> Option<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.cache/model-packages");
    let entries = fs::read_dir(&directory).into_iter().flatten().flatten();
    let is_named = |path: &PathBuf| {
        let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        file.starts_with(name) && file.ends_with(".whl")
    };
    let found = entries.map(|entry| entry.path()).find(is_named);
    if found.is_none() {
        println!("skipped: {name} is not in .cache/model-packages; run `make models`");
    }
    found
}

/// The CPU time of this thread in seconds.
pub fn cpu_time() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}
