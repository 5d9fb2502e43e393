//! The interface of the stages between the decoder and the renderer of a canonical stream.

use domain::canon::Event;

/// A stage that canonical events pass between the provider's decoder and the client's renderer.
pub trait EventStage {
    /// Takes an event and appends what is passed on: the event, others in its place, or nothing yet.
    fn push(&mut self, event: Event, out: &mut Vec<Event>);

    /// Handles a stream that stops without `Event::End`: discards what must not be sent incomplete, and appends what
    /// completes the answer. Events may follow, if another provider continues the stream.
    fn finish(&mut self, _out: &mut Vec<Event>) {}
}

/// Passes events through stages in their order. They are replaced by what comes out; `scratch` is only a second buffer.
pub fn push_through<'a>(
    stages: impl IntoIterator<Item = &'a mut dyn EventStage>,
    events: &mut Vec<Event>,
    scratch: &mut Vec<Event>,
) {
    for stage in stages {
        pass(stage, events, scratch);
    }
}

/// Finishes stages in their order. Events that a stage appends pass the later stages before those finish.
pub fn finish_through<'a>(
    stages: impl IntoIterator<Item = &'a mut dyn EventStage>,
    events: &mut Vec<Event>,
    scratch: &mut Vec<Event>,
) {
    for stage in stages {
        pass(stage, events, scratch);
        stage.finish(events);
    }
}

fn pass(stage: &mut dyn EventStage, events: &mut Vec<Event>, scratch: &mut Vec<Event>) {
    for event in events.drain(..) {
        stage.push(event, scratch);
    }
    std::mem::swap(events, scratch);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Passes on every event twice, and closes its own block when it finishes.
    struct Doubler(u32);

    impl EventStage for Doubler {
        fn push(&mut self, event: Event, out: &mut Vec<Event>) {
            out.extend([event.clone(), event]);
        }

        fn finish(&mut self, out: &mut Vec<Event>) {
            out.push(Event::Close { index: self.0 });
        }
    }

    #[test]
    fn events_pass_the_stages_in_order_and_so_do_those_of_a_stage_that_finishes() {
        let (mut first, mut second) = (Doubler(1), Doubler(2));
        let (mut events, mut scratch) = (vec![Event::End], Vec::new());
        let stages: [&mut dyn EventStage; 2] = [&mut first, &mut second];
        push_through(stages, &mut events, &mut scratch);
        assert_eq!(events, [Event::End, Event::End, Event::End, Event::End]);
        events.clear();
        let stages: [&mut dyn EventStage; 2] = [&mut first, &mut second];
        finish_through(stages, &mut events, &mut scratch);
        let close = |index| Event::Close { index };
        assert_eq!(events, [close(1), close(1), close(2)]);
    }
}
