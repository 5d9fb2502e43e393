//! Large futures that are made on the heap.

use std::pin::Pin;

/// Allocates a future and makes it in place. `Box::pin` takes a future that exists already: it is made on the stack, and copied.
pub fn pinned<F: Future>(make: impl FnOnce() -> F) -> Pin<Box<F>> {
    Box::into_pin(Box::write(Box::new_uninit(), call(make)))
}

/// Makes a future where its caller wants it. If this were inlined, the compiler would first make the future on the stack.
#[inline(never)]
fn call<F>(make: impl FnOnce() -> F) -> F {
    make()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn a_pinned_future_is_the_one_that_was_made() {
        let numbers: Vec<u8> = (0..200).collect();
        let made = pinned(|| std::future::ready((numbers.clone(), [7_u64; 500])));
        let (copied, sevens) = Pin::into_inner(made).into_inner();
        assert_eq!((&copied, sevens.iter().sum::<u64>()), (&numbers, 3500));
    }

    #[test]
    fn a_panic_while_a_future_is_made_leaves_nothing_behind() {
        let shared = Arc::new(());
        let held = shared.clone();
        let made = std::panic::catch_unwind(move || {
            pinned(move || -> std::future::Ready<Arc<()>> {
                let _held = held;
                std::panic::resume_unwind(Box::new("stop"))
            })
        });
        assert!(made.is_err());
        assert_eq!(Arc::strong_count(&shared), 1);
    }
}
