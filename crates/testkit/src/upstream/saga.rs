//! An answer whose text and faults are specified by the request, and which can continue an interrupted one.
//!
//! A text of the prompt that begins with `SAGA ` contains a [`Saga`] as JSON. Model `saga-N` (or `saga-N-any`, if
//! several are needed) fails as the N-th of `deaths` specifies. A partial answer in the assistant's last turn must be a
//! prefix of the text. A prefill is continued exactly, as models do. A request to continue, which may quote the end of
//! the partial answer, is handled according to the saga's `manner`.

#[cfg(test)]
mod tests;

use serde::Deserialize;
use serde_json::Value;

use super::asked::Asked;
use super::behaviour::Play;
use super::dialect::Dialect;
use super::reply::{Reply, ToolCall};
use super::script::{Answer, Step};

const MARK: &str = "SAGA ";

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Saga {
    text: String,
    /// Characters of each piece, repeated cyclically.
    sizes: Vec<usize>,
    /// Tool calls after the text.
    calls: Vec<Call>,
    deaths: Vec<Option<Death>>,
    manner: ContinuationStyle,
}

#[derive(Debug, Deserialize)]
struct Call {
    name: String,
    arguments: String,
}

#[derive(Clone, Debug, Deserialize)]
struct Death {
    /// Number of characters of the text and of the calls' arguments sent in total, by any attempt.
    after: usize,
    how: End,
    /// Number of bytes of the next event that are still sent.
    #[serde(default)]
    torn: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum End {
    Reset,
    /// Connection closed without the chunk terminator.
    Cut,
    /// Clean end of the body without the answer's end.
    Eof,
    Hang,
    /// An error event.
    Error,
}

/// The way a request to continue is handled.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ContinuationStyle {
    /// Repeats the quoted text first; without a quotation, continues the text.
    #[default]
    Obey,
    /// Continues the text, ignoring any quotation.
    Plain,
    /// Repeats this many characters, or the quoted text if that is longer.
    Repeat(usize),
    Restart,
}

/// The number of the attempt that a behaviour stands for.
pub(super) fn life(behaviour: &str) -> Option<usize> {
    behaviour.strip_prefix("saga-")?.split('-').next()?.parse().ok()
}

pub(super) fn answer(play: &Play<'_>, number: usize) -> Answer {
    let Some(saga) = Saga::find(play.asked) else { return play.answer("error-400") };
    let body: Value = serde_json::from_slice(&play.asked.raw).unwrap_or_default();
    let Some(from) = saga.beginning(&body, play.voice.dialect()) else { return play.answer("error-400") };
    let reply = saga.reply(Reply::new(play.asked), number, from);
    let answer = play.render(&reply);
    match saga.death(number) {
        Some(death) if play.asked.streams => saga.die(play, answer, &reply, (from, death)),
        _ => answer,
    }
}

impl Saga {
    fn find(asked: &Asked) -> Option<Self> {
        let order = asked.texts.iter().find_map(|text| text.strip_prefix(MARK))?;
        // Turns of one role may have been merged, so text may follow.
        serde_json::Deserializer::from_str(order).into_iter().next()?.ok()
    }

    fn death(&self, number: usize) -> Option<&Death> {
        self.deaths.get(number.checked_sub(1)?)?.as_ref()
    }

    /// Index of the first character to send; `None` if the assistant's turn is not a prefix of the text.
    fn beginning(&self, body: &Value, dialect: Dialect) -> Option<usize> {
        let Some(partial) = Partial::find(body) else { return Some(0) };
        let told = self.text.strip_prefix(partial.said.as_str()).map(|_| partial.said.chars().count())?;
        if partial.plea.is_empty() && matches!(dialect, Dialect::Messages | Dialect::Generate) {
            return Some(told);
        }
        let quoted = partial.quoted();
        Some(match self.manner {
            ContinuationStyle::Obey => told - quoted.unwrap_or_default(),
            ContinuationStyle::Plain => told,
            ContinuationStyle::Repeat(again) => told.saturating_sub(again.max(quoted.unwrap_or_default())),
            ContinuationStyle::Restart => 0,
        })
    }

    /// Builds the reply; a piece ends where the fault occurs.
    fn reply(&self, mut reply: Reply, number: usize, from: usize) -> Reply {
        let after = self.death(number).map_or(usize::MAX, |death| death.after);
        reply.content = self.pieces(&self.text, from, after.saturating_sub(from));
        let mut before = self.text.chars().count();
        for call in &self.calls {
            let arguments = self.pieces(&call.arguments, 0, after.saturating_sub(before));
            before += call.arguments.chars().count();
            reply.calls.push(ToolCall { name: call.name.clone(), arguments, custom: false });
        }
        reply
    }

    fn pieces(&self, text: &str, from: usize, border: usize) -> Vec<String> {
        let mut rest: &[char] = &text.chars().skip(from).collect::<Vec<_>>();
        let mut border = border;
        let mut sizes = self.sizes.iter().copied().filter(|size| *size > 0).cycle();
        let mut pieces = Vec::new();
        while !rest.is_empty() {
            let mut size = sizes.next().unwrap_or(5).min(rest.len());
            if border > 0 {
                size = size.min(border);
                border -= size;
            }
            let (piece, more) = rest.split_at(size);
            pieces.push(piece.iter().collect());
            rest = more;
        }
        pieces
    }

    fn die(
        &self,
        play: &Play<'_>,
        mut answer: Answer,
        reply: &Reply,
        (from, death): (usize, &Death),
    ) -> Answer {
        let mut room = death.after.saturating_sub(from);
        let arguments = reply.calls.iter().flat_map(|call| &call.arguments);
        let told = reply.content.iter().chain(arguments).take_while(|piece| {
            let fits = piece.chars().count() <= room;
            room = room.saturating_sub(piece.chars().count());
            fits
        });
        let end = end_of(&answer.steps, told.count() as u64);
        let next = answer.steps.get(end).cloned();
        answer.steps.truncate(end);
        if let Some(Step::Send { bytes, .. }) = next.filter(|_| death.torn > 0) {
            answer.steps.push(Step::send(bytes.slice(..death.torn.min(bytes.len() - 1))));
        }
        match death.how {
            End::Reset => answer.steps.push(Step::Reset),
            End::Cut => answer.steps.push(Step::Cut),
            End::Eof => answer.steps.push(Step::End),
            End::Hang => answer.steps.push(Step::Hang),
            End::Error => {
                let error = play.voice.failing_end(reply, answer.steps.len());
                answer.steps.extend([error, Step::End]);
            }
        }
        answer
    }
}

/// Index after the step that completes this many pieces; before any content if that is zero.
fn end_of(steps: &[Step], pieces: u64) -> usize {
    let mut sent = 0;
    let mut end = None;
    for (index, step) in steps.iter().enumerate() {
        let Step::Send { completion: cost @ 1.., .. } = step else { continue };
        if sent + cost > pieces {
            return end.unwrap_or(index);
        }
        sent += cost;
        end = Some(index + 1);
    }
    end.unwrap_or(steps.len())
}

/// A partial answer in the request.
struct Partial {
    said: String,
    /// The text after the partial answer.
    plea: String,
}

impl Partial {
    /// Minimum length of a quotation; shorter matches are coincidental.
    const LEAST_QUOTED: usize = 8;

    fn find(body: &Value) -> Option<Self> {
        let turns = ["messages", "input", "contents"].iter().find_map(|member| body[*member].as_array())?;
        let is_ours = |turn: &Value| matches!(turn["role"].as_str(), Some("assistant" | "model"));
        let place = turns.iter().rposition(is_ours)?;
        let plea = turns[place + 1..].iter().map(words_of).collect();
        Some(Self { said: words_of(&turns[place]), plea })
    }

    /// Number of characters at the end of the partial answer that the request quotes.
    fn quoted(&self) -> Option<usize> {
        let ends = self.said.char_indices().map(|(start, _)| &self.said[start..]);
        let quoted = ends.map(str::trim_end).find(|end| !end.is_empty() && self.plea.contains(end))?;
        let trailing = self.said.chars().count() - self.said.trim_end().chars().count();
        let length = quoted.chars().count() + trailing;
        (length >= Self::LEAST_QUOTED || length == self.said.chars().count()).then_some(length)
    }
}

fn words_of(turn: &Value) -> String {
    match turn.get("content").or_else(|| turn.get("parts")) {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => parts.iter().filter_map(|part| part["text"].as_str()).collect(),
        _ => String::new(),
    }
}
