//! Caveats of recorded usage: why its figures may be unreliable. Several are one text, separated by `; `, beside the
//! free texts that readers of usage add.

const SEPARATOR: &str = "; ";

/// A caveat that the gateway decides on later; its text is what records and reports show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caveat {
    /// The call has no cost because its model has no price.
    Unpriced,
    /// A part of the call has no price.
    PartlyUnpriced,
    /// Several targets served the call, each at its own price.
    Resumed,
    /// Another provider had already started to answer.
    AnswerLost,
    /// The answer to an earlier call with the same `Idempotency-Key` was sent again.
    IdempotentReplay,
}

impl Caveat {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unpriced => "unpriced",
            Self::PartlyUnpriced => "a part has no price",
            Self::Resumed => "resumed",
            Self::AnswerLost => "an answer was lost",
            Self::IdempotentReplay => "idempotent replay",
        }
    }

    /// Whether recorded caveats contain this one.
    pub fn is_in(self, caveats: Option<&str>) -> bool {
        caveats.is_some_and(|caveats| caveats.split(SEPARATOR).any(|caveat| caveat == self.as_str()))
    }

    /// Appends this caveat.
    pub fn add_to(self, caveats: &mut Option<String>) {
        match caveats {
            Some(caveats) => {
                caveats.push_str(SEPARATOR);
                caveats.push_str(self.as_str());
            }
            None => *caveats = Some(self.as_str().to_owned()),
        }
    }

    /// Removes this caveat and keeps the others.
    pub fn remove_from(self, caveats: &mut Option<String>) {
        let Some(before) = caveats.take() else { return };
        let others: Vec<&str> = before.split(SEPARATOR).filter(|caveat| *caveat != self.as_str()).collect();
        *caveats = Some(others.join(SEPARATOR)).filter(|caveats| !caveats.is_empty());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn caveats_are_added_found_and_removed_beside_others() {
        let mut caveats = None;
        Caveat::Unpriced.remove_from(&mut caveats);
        assert_eq!(caveats, None);
        Caveat::Unpriced.add_to(&mut caveats);
        assert_eq!(caveats.as_deref(), Some("unpriced"));
        Caveat::Resumed.add_to(&mut caveats);
        assert_eq!(caveats.as_deref(), Some("unpriced; resumed"));
        assert!(Caveat::Resumed.is_in(caveats.as_deref()) && !Caveat::AnswerLost.is_in(caveats.as_deref()));
        Caveat::Unpriced.remove_from(&mut caveats);
        assert_eq!(caveats.as_deref(), Some("resumed"));
        Caveat::Resumed.remove_from(&mut caveats);
        assert_eq!((caveats.as_deref(), Caveat::Resumed.is_in(None)), (None, false));
    }
}
