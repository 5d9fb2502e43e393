//! Table tests of the veto, one table for each kind of difference.
use super::check_texts;
#[test]
fn smoke() {
    assert_eq!(check_texts("How do I buy a car?", "How can I purchase a car?"), Ok(()));
}
