//! The stage that meters a provider's events: reported usage, and bytes of content for an estimate.

use bytes::Bytes;
use domain::canon::Event;
use domain::usage::Usage;

use crate::streaming::event_stage::EventStage;

#[derive(Default)]
pub struct UsageMeter {
    content_bytes: u64,
    /// The last event ended the content or a block of it.
    answered: bool,
    usage: Option<(Usage, Bytes)>,
}

impl UsageMeter {
    /// Whether the content seems complete, so that only usage may follow.
    pub fn is_answered(&self) -> bool {
        self.answered
    }

    /// The bytes of content since the last call of this function.
    pub fn take_content_bytes(&mut self) -> u64 {
        std::mem::take(&mut self.content_bytes)
    }

    /// The last reported usage with the provider's own usage object, unless it was taken before.
    pub fn take_usage(&mut self) -> Option<(Usage, Bytes)> {
        self.usage.take()
    }
}

impl EventStage for UsageMeter {
    fn push(&mut self, event: Event, out: &mut Vec<Event>) {
        let content_bytes = event.content_bytes() as u64;
        self.content_bytes += content_bytes;
        self.answered = matches!(event, Event::Finish { .. } | Event::Close { .. })
            || (self.answered && content_bytes == 0);
        if let Event::Usage { usage, raw } = &event {
            self.usage = Some(((**usage).clone(), raw.clone()));
        }
        out.push(event);
    }
}

#[cfg(test)]
mod tests {
    use domain::canon::{Block, Delta, StopReason};
    use domain::usage::Tokens;

    use super::*;

    fn usage(output: u64) -> Usage {
        Usage { tokens: Tokens { output, ..Tokens::default() }, ..Usage::default() }
    }

    fn reported(output: u64) -> Event {
        Event::Usage { usage: Box::new(usage(output)), raw: Bytes::from(output.to_string()) }
    }

    /// Each event with the figures behind it, so that every prefix of a stream is checked.
    #[test]
    fn figures_are_right_wherever_the_stream_stops() {
        let call = Block::ToolCall { id: "c".into(), name: "look".into(), custom: false, opaque: None };
        let delta = |delta| Event::Delta { index: 0, delta };
        let steps = [
            (Event::Begin { id: None, model: None }, 0, false, None),
            (reported(1), 0, false, Some(1)),
            (Event::Open { index: 0, block: Block::Text }, 0, false, Some(1)),
            (delta(Delta::Text("häh".into())), 4, false, Some(1)),
            (Event::Close { index: 0 }, 4, true, Some(1)),
            (Event::Open { index: 1, block: call }, 8, false, Some(1)),
            (delta(Delta::Arguments("{}".into())), 10, false, Some(1)),
            (Event::Close { index: 1 }, 10, true, Some(1)),
            (reported(7), 10, true, Some(7)),
            (Event::Finish { reason: StopReason::ToolCalls }, 10, true, Some(7)),
            (Event::End, 10, true, Some(7)),
        ];
        for stop in 0..steps.len() {
            let (mut meter, mut out) = (UsageMeter::default(), Vec::new());
            for (event, ..) in &steps[..=stop] {
                meter.push(event.clone(), &mut out);
            }
            let (_, content_bytes, answered, output) = &steps[stop];
            assert!(out.iter().eq(steps[..=stop].iter().map(|(event, ..)| event)), "all pass unchanged");
            assert_eq!(meter.is_answered(), *answered, "{stop}");
            assert_eq!(meter.take_content_bytes(), *content_bytes, "{stop}");
            let expected = output.map(|output| (usage(output), Bytes::from(output.to_string())));
            assert_eq!(meter.take_usage(), expected, "{stop}");
            assert_eq!((meter.take_content_bytes(), meter.take_usage()), (0, None), "{stop}");
        }
    }
}
