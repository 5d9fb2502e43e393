//! Breaks an answer off at the point of a fault.

use super::super::answer::{Answer, Step};
use super::super::fault_script::{FaultAction, FaultPoint, FaultStep, RetryHint};
use super::super::reply::Reply;
use super::AnswerBuilder;

impl AnswerBuilder<'_> {
    /// Sends the reply up to the fault's point, then the fault. `from` is the offset of the reply's text in the whole
    /// text, for faults at an offset.
    pub(super) fn broken(&self, reply: &Reply, fault: FaultStep, from: usize) -> Answer {
        let is_error = fault.action == FaultAction::Error;
        match fault.point {
            FaultPoint::BeforeHead => self.broken_before_head(reply, fault.action),
            FaultPoint::AfterHead => {
                Answer { steps: self.break_steps(reply, fault.action, 0), ..self.render(reply) }
            }
            FaultPoint::BeforeContent if is_error && self.request.streams => {
                Answer::stream(self.renderer.failing_start(reply))
            }
            FaultPoint::BeforeContent if is_error => {
                Answer::whole(self.renderer.failing_document(reply).to_string())
            }
            FaultPoint::BeforeContent => {
                let answer = self.render(reply);
                let end = answer.first_content();
                self.truncated(answer, reply, fault, end)
            }
            FaultPoint::AfterPieces(_) | FaultPoint::AfterCharacters(_) | FaultPoint::AtOffset(_) => {
                if self.request.streams {
                    let answer = self.render(reply);
                    let end = end_of_content(&answer, reply, fault.point, from);
                    self.truncated(answer, reply, fault, end)
                } else {
                    self.broken_document(reply, fault.action)
                }
            }
        }
    }

    /// A hanging call is billed, a refused connection is not.
    fn broken_before_head(&self, reply: &Reply, action: FaultAction) -> Answer {
        let before = self.break_steps(reply, action, 0);
        let answer = if action == FaultAction::Hang { self.render(reply) } else { Answer::default() };
        Answer { before, ..answer }
    }

    /// The first steps, and then the fault.
    fn truncated(&self, mut answer: Answer, reply: &Reply, fault: FaultStep, end: usize) -> Answer {
        let next = answer.steps.get(end).cloned();
        answer.steps.truncate(end);
        if let Some(Step::Send { bytes, .. }) = next.filter(|_| fault.torn > 0) {
            answer.steps.push(Step::send(bytes.slice(..fault.torn.min(bytes.len() - 1))));
        }
        answer.steps.extend(self.break_steps(reply, fault.action, end));
        if fault.action == FaultAction::Eof {
            answer.length = None;
        }
        answer
    }

    /// The first half of a document, then the fault.
    fn broken_document(&self, reply: &Reply, action: FaultAction) -> Answer {
        match action {
            FaultAction::Error => self.error(500, RetryHint::None),
            FaultAction::BadEvent | FaultAction::TruncatedEvent => {
                let body = self.renderer.document(reply).to_string();
                Answer::whole(body[..body.len() / 2].to_owned())
            }
            _ => {
                let mut answer = self.render(reply);
                if let Some(Step::Send { bytes, .. }) = answer.steps.first_mut() {
                    bytes.truncate(bytes.len() / 2);
                }
                answer.steps.extend(self.break_steps(reply, action, 0));
                if action == FaultAction::Eof {
                    answer.length = None;
                }
                answer
            }
        }
    }

    /// The steps of the fault itself, after this many others.
    fn break_steps(&self, reply: &Reply, action: FaultAction, sent: usize) -> Vec<Step> {
        match action {
            FaultAction::Hang => vec![Step::Hang],
            FaultAction::Reset => vec![Step::Reset],
            FaultAction::Cut => vec![Step::Cut],
            FaultAction::Eof => vec![Step::End],
            FaultAction::Error => vec![self.renderer.failing_end(reply, sent), Step::End],
            FaultAction::BadEvent => vec![Step::send(self.renderer.broken_event()), Step::End],
            FaultAction::TruncatedEvent => {
                vec![Step::send(self.renderer.broken_event().trim_end()), Step::End]
            }
        }
    }
}

/// Number of steps before the point.
fn end_of_content(answer: &Answer, reply: &Reply, point: FaultPoint, from: usize) -> usize {
    let mut room = match point {
        FaultPoint::AfterCharacters(count) => count,
        FaultPoint::AtOffset(offset) => offset.saturating_sub(from),
        FaultPoint::AfterPieces(count) => return after_pieces(&answer.steps, count),
        _ => return 0,
    };
    let arguments = reply.calls.iter().flat_map(|call| &call.arguments);
    let fitting = reply.content.iter().chain(arguments).take_while(|piece| {
        let length = piece.chars().count();
        let fits = length <= room;
        room = room.saturating_sub(length);
        fits
    });
    let reasoning = reply.reasoning.len() as u64;
    after_tokens(&answer.steps, reasoning + fitting.count() as u64)
}

/// Index after this many steps with content.
fn after_pieces(steps: &[Step], count: usize) -> usize {
    let content = steps.iter().enumerate().filter(|(_, step)| step.has_content());
    content.take(count).last().map_or(1, |(index, _)| index + 1)
}

/// Index after the step that completes this many tokens; before any content if that is zero.
fn after_tokens(steps: &[Step], tokens: u64) -> usize {
    let mut sent = 0;
    let mut end = None;
    for (index, step) in steps.iter().enumerate() {
        let Step::Send { completion: cost @ 1.., .. } = step else { continue };
        if sent + cost > tokens {
            return end.unwrap_or(index);
        }
        sent += cost;
        end = Some(index + 1);
    }
    end.unwrap_or(steps.len())
}
