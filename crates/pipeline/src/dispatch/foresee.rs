//! What would become of a call: the decisions of a dispatch in their order, with nothing taken, sent or noted.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use domain::call::{Format, Surface};
use domain::canon::Dropped;
use domain::fault::{self, Fault};
use http::{HeaderMap, Method};

use super::course::{Course, Moment};
use super::occasion::Occasion;
use super::outbound::{self, Leaving, Passage};
use crate::health::Availability;
use crate::receive::Call;
use crate::snapshot::routes::Lane;

pub struct Foreseen {
    /// One for each target, in the order of the plan.
    pub prospects: Vec<Prospect>,
    /// The targets that would be asked, each if those before it fail, as places in the plan.
    pub would_try: Vec<usize>,
    /// The first that would leave.
    pub departure: Option<Departure>,
    /// What the client would be told, where nothing would leave.
    pub fault: Option<Fault>,
}

/// How it stands with one target, whatever becomes of those before it.
pub struct Prospect {
    pub availability: Availability,
    /// The dialect that the target is asked in and whether that takes a translation; none where it cannot be asked.
    pub dialect: Option<Dialect>,
    pub dropped: Dropped,
    /// Why it could not be asked.
    pub fault: Option<Fault>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    Native,
    Translated(Format),
}

/// A request as it would leave.
pub struct Departure {
    /// In the plan.
    pub place: usize,
    pub method: Method,
    /// None for a model that is built in.
    pub url: Option<String>,
    pub headers: HeaderMap,
    pub body: Bytes,
}

/// Where a walk over the targets has got to.
struct Walk {
    course: Course,
    would_try: Vec<usize>,
    departure: Option<Departure>,
}

pub fn foresee(call: &Call, lanes: &[Arc<Lane>], occasion: &dyn Occasion, now: Duration) -> Foreseen {
    let course = Course::new(lanes.to_vec());
    let mut walk = Walk { course, would_try: Vec::new(), departure: None };
    let mut prospects = Vec::with_capacity(lanes.len());
    for (place, lane) in lanes.iter().enumerate() {
        let availability = lane.health.availability(now);
        let leaving = outbound::prepare(call, lane, occasion);
        let (dialect, dropped, fault) = match &leaving {
            Ok(leaving) => (Some(dialect(leaving)), leaving.dropped(), undialled(lane)),
            Err(fault) => (None, Dropped::default(), Some(fault.clone())),
        };
        walk.visit(place, availability, leaving, fault.as_ref(), (call, lane, occasion, now));
        prospects.push(Prospect { availability, dialect, dropped, fault });
    }
    let Walk { course, would_try, departure } = walk;
    let fault = departure.is_none().then(|| course.verdict(now));
    Foreseen { prospects, would_try, departure, fault }
}

impl Walk {
    fn visit(
        &mut self,
        place: usize,
        availability: Availability,
        leaving: Result<Leaving, Fault>,
        undialled: Option<&Fault>,
        (call, lane, occasion, now): (&Call, &Lane, &dyn Occasion, Duration),
    ) {
        if !availability.admits() {
            self.course.pass_over(&availability);
            return;
        }
        let leaving = match leaving {
            Ok(leaving) => leaving,
            Err(fault) => {
                self.course.lacks(fault);
                return;
            }
        };
        self.would_try.push(place);
        let Some(fault) = undialled else {
            self.departure.get_or_insert_with(|| depart(place, leaving, call, lane));
            self.course.move_on();
            return;
        };
        let gateway = occasion.gateway();
        // No time is left, so nothing is tried again: that would change neither the targets nor the verdict.
        let moment = Moment {
            left: Duration::ZERO,
            chance: 0.0,
            retries: &gateway.policy.retries,
            budget: &gateway.retry_budget,
            active: 0,
            now,
        };
        self.course.failed(fault.clone(), &moment);
    }
}

fn dialect(leaving: &Leaving) -> Dialect {
    match (&leaving.passage, leaving.surface) {
        (Passage::Translated(_), Surface::Converse(format)) => Dialect::Translated(format),
        _ => Dialect::Native,
    }
}

/// An instance that cannot be dialled as it is configured.
fn undialled(lane: &Lane) -> Option<Fault> {
    let core = &lane.instance;
    let reason = core.destination.as_ref().err().filter(|_| core.vendor.answer.is_none())?;
    Some(fault::upstream_unreachable(&lane.target.instance, reason))
}

fn depart(place: usize, mut leaving: Leaving, call: &Call, lane: &Lane) -> Departure {
    let body = wire::splice::concat(&leaving.body);
    let Ok(destination) = lane.instance.destination.clone() else {
        return Departure { place, method: Method::POST, url: None, headers: HeaderMap::new(), body };
    };
    let outbound = outbound::build(destination, &mut leaving, call, lane);
    let destination = &outbound.destination;
    let url = format!("{}{}{}", destination.origin(), destination.base_path(), outbound.path_and_query);
    Departure { place, method: outbound.method, url: Some(url), headers: outbound.headers.to_map(), body }
}
