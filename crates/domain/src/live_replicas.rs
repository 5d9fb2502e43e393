//! The number of processes that share the database.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// The number of live replicas, this process included; at least 1. Clones share it.
#[derive(Clone, Debug)]
pub struct LiveReplicas(Arc<AtomicU32>);

impl Default for LiveReplicas {
    fn default() -> Self {
        Self(Arc::new(AtomicU32::new(1)))
    }
}

impl LiveReplicas {
    pub fn get(&self) -> u32 {
        // Relaxed: the number publishes no other data.
        self.0.load(Ordering::Relaxed)
    }

    pub fn set(&self, count: u32) {
        self.0.store(count.max(1), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_at_least_this_process() {
        let replicas = LiveReplicas::default();
        assert_eq!(replicas.get(), 1);
        let other = replicas.clone();
        other.set(3);
        assert_eq!(replicas.get(), 3);
        other.set(0);
        assert_eq!(replicas.get(), 1);
    }
}
