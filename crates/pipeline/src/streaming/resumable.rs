//! The state needed to continue a stream at another target.

use std::sync::Arc;

use crate::accounting::reservation::Reservation;
use crate::call::receive::Call;
use crate::routing::routes::Lane;

/// Most times that a stream is resumed: more interruptions are no accident.
const MOST: u32 = 3;

/// The state needed to continue a stream at another target; created only if resuming is enabled.
pub struct Resumable {
    pub call: Box<Call>,
    pub lanes: Vec<Arc<Lane>>,
    pub reservation: Reservation,
    pub resumed: u32,
}

impl Resumable {
    pub fn can_resume(&self) -> bool {
        self.resumed < MOST
    }

    pub fn resumed(&self) -> u32 {
        self.resumed
    }

    /// Moves the failed target to the end.
    pub fn order(&mut self, dead: Option<&Arc<Lane>>) {
        let Some(dead) = dead else { return };
        self.lanes.sort_by_key(|lane| Arc::ptr_eq(lane, dead));
    }
}
