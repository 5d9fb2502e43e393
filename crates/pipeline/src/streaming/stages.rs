//! The stages of a canonical stream, in their order.

mod tool_names;
mod usage_meter;

use domain::canon::{Event, Reply};
use domain::usage::Tokens;
use wire::renames::Renames;

use super::event_stage::{EventStage, finish_through, push_through};
use super::response_mode::Continuity;
use super::resume::{Overlap, ResumeStages};
use usage_meter::UsageMeter;

/// The stages of one stream. Those that it does not need are left out.
pub struct Stages {
    names: Renames,
    meter: UsageMeter,
    resume: ResumeStages,
    /// Reused for all events, to avoid allocations.
    scratch: Vec<Event>,
}

impl Stages {
    pub fn new(names: Renames, continuity: Continuity) -> Self {
        Self {
            names,
            meter: UsageMeter::default(),
            resume: ResumeStages::new(continuity),
            scratch: Vec::new(),
        }
    }

    /// Passes decoded events through all stages. They are replaced by the events for the client.
    pub fn push(&mut self, events: &mut Vec<Event>) {
        let (stages, scratch) = self.in_order();
        push_through(stages.into_iter().flatten(), events, scratch);
    }

    /// Handles a stream that stops without its end event; appends the events that complete it.
    pub fn finish(&mut self, events: &mut Vec<Event>) {
        let (stages, scratch) = self.in_order();
        finish_through(stages.into_iter().flatten(), events, scratch);
    }

    pub fn meter(&self) -> &UsageMeter {
        &self.meter
    }

    pub fn meter_mut(&mut self) -> &mut UsageMeter {
        &mut self.meter
    }

    pub fn resume(&self) -> &ResumeStages {
        &self.resume
    }

    /// Continues with the stream of another provider. Returns the events that its stages hold, joined to the answer so
    /// far.
    pub fn join(
        &mut self,
        next: Self,
        so_far: &Reply,
        overlap: Overlap,
        earlier: Tokens,
        number: u32,
    ) -> Vec<Event> {
        self.names = next.names;
        self.meter = next.meter;
        self.resume.join(next.resume, so_far, overlap, earlier, number)
    }

    /// The order of the stages: names first, as the client knows them; then usage of everything that the provider sent,
    /// also of events that are held back or dropped.
    fn in_order(&mut self) -> ([Option<&mut dyn EventStage>; 5], &mut Vec<Event>) {
        let Self { names, meter, resume, scratch } = self;
        let [first, second, third] = resume.in_order();
        let names = (!names.is_empty()).then_some(names as &mut dyn EventStage);
        ([names, Some(meter), first, second, third], scratch)
    }
}
