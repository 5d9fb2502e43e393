//! Int8 quantisation of embeddings, and the cosine of quantised vectors.

#[cfg(test)]
mod tests;

/// Largest absolute value of a quantised component.
const LEVELS: f32 = 127.0;

/// An embedding as signed bytes: its direction is that of the components, its length is 1 after multiplication by
/// `scale`.
#[derive(Debug, Clone, PartialEq)]
pub struct Quantised {
    pub components: Vec<i8>,
    pub scale: f32,
}

impl Quantised {
    /// The vector of stored components, with the scale computed anew. `None` if there is no direction in it.
    pub fn from_components(components: Vec<i8>) -> Option<Self> {
        let scale = unit_scale(&components)?;
        Some(Self { components, scale })
    }

    /// Cosine of the angle to another vector; 0 if the dimensions differ.
    pub fn cosine(&self, other: &Self) -> f32 {
        if self.components.len() != other.components.len() {
            return 0.0;
        }
        let sum: i64 = self
            .components
            .iter()
            .zip(&other.components)
            .map(|(a, b)| i64::from(i32::from(*a) * i32::from(*b)))
            .sum();
        (sum as f32 * self.scale * other.scale).clamp(-1.0, 1.0)
    }
}

/// Quantises an embedding of any length. `None` for an empty vector, for zero, and for components that are not finite.
pub fn quantise(vector: &[f32]) -> Option<Quantised> {
    let components = to_levels(vector, LEVELS)?.into_iter().map(|level| level as i8).collect();
    Quantised::from_components(components)
}

/// The components on the scale of their largest one, rounded to whole levels.
pub(crate) fn to_levels(vector: &[f32], levels: f32) -> Option<Vec<f32>> {
    if vector.iter().any(|component| !component.is_finite()) {
        return None;
    }
    let largest = vector.iter().fold(0.0_f32, |most, component| most.max(component.abs()));
    if largest <= 0.0 {
        return None;
    }
    // The division comes first: `levels / largest` is infinite for the smallest components.
    Some(vector.iter().map(|component| (component / largest * levels).round()).collect())
}

/// Factor that makes a vector of bytes one unit long.
fn unit_scale(components: &[i8]) -> Option<f32> {
    let squares: i64 = components.iter().map(|c| i64::from(i32::from(*c) * i32::from(*c))).sum();
    (squares > 0).then(|| 1.0 / (squares as f32).sqrt())
}
