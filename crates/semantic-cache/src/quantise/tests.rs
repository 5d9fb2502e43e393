//! Properties of quantisation: bounded error, length, rejection of vectors without a direction.

use proptest::prelude::*;

use super::{Quantised, quantise};

fn cosine(a: &[f32], b: &[f32]) -> f64 {
    let dot: f64 = a.iter().zip(b).map(|(x, y)| f64::from(*x) * f64::from(*y)).sum();
    let length = |v: &[f32]| v.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>().sqrt();
    dot / (length(a) * length(b))
}

fn vectors() -> impl Strategy<Value = (Vec<f32>, Vec<f32>)> {
    (2_usize..400).prop_flat_map(|n| {
        let component = prop_oneof![-1.0_f32..1.0, -0.01_f32..0.01];
        (prop::collection::vec(component.clone(), n), prop::collection::vec(component, n))
    })
}

proptest! {
    /// A component is off by at most half a level; the angle by at most the sum of both relative errors.
    #[test]
    fn error_of_the_cosine_is_bounded((a, b) in vectors()) {
        let (Some(qa), Some(qb)) = (quantise(&a), quantise(&b)) else { return Ok(()) };
        let relative = |v: &[f32]| {
            let largest = v.iter().fold(0.0_f32, |m, x| m.max(x.abs()));
            let length = v.iter().map(|x| x * x).sum::<f32>().sqrt();
            f64::from(largest) / 254.0 * (v.len() as f64).sqrt() / f64::from(length)
        };
        let bound = 2.0 * (relative(&a) + relative(&b)) + 1e-5;
        let error = (f64::from(qa.cosine(&qb)) - cosine(&a, &b)).abs();
        prop_assert!(error <= bound, "error {error} over {bound}");
    }

    #[test]
    fn every_vector_equals_itself((a, _) in vectors()) {
        if let Some(q) = quantise(&a) {
            prop_assert!((q.cosine(&q) - 1.0).abs() < 1e-5);
            prop_assert_eq!(Quantised::from_components(q.components.clone()), Some(q));
        }
    }

    #[test]
    fn length_does_not_matter((a, _) in vectors(), factor in 0.001_f32..1000.0) {
        let scaled: Vec<f32> = a.iter().map(|x| x * factor).collect();
        if let (Some(q), Some(s)) = (quantise(&a), quantise(&scaled)) {
            prop_assert!(q.cosine(&s) > 0.999);
        }
    }
}

#[test]
fn vectors_without_a_direction_are_rejected() {
    for vector in [&[][..], &[0.0, 0.0], &[f32::NAN, 1.0], &[f32::INFINITY, 1.0]] {
        assert_eq!(quantise(vector), None, "{vector:?}");
    }
    assert_eq!(Quantised::from_components(vec![0, 0]), None);
}

#[test]
fn extreme_magnitudes_keep_their_direction() {
    for magnitude in [f32::MIN_POSITIVE, 1e-30, 1e30, f32::MAX] {
        let q = quantise(&[magnitude, -magnitude, 0.0]).expect("has a direction");
        assert_eq!(q.components, [127, -127, 0]);
    }
}

#[test]
fn vectors_of_different_dimensions_are_unrelated() {
    let (a, b) = (quantise(&[1.0, 0.0]).expect("a"), quantise(&[1.0, 0.0, 0.0]).expect("b"));
    assert_eq!(a.cosine(&b), 0.0);
}
