//! A fixed text that can be interrupted and continued, for tests of stream recovery.

use serde_json::json;

use super::super::reply::{Reply, ToolCall, pieces, words};
use super::super::script::{Answer, Step};
use super::Play;

/// The text. No prefix of it is immediately repeated, and no sixteen characters occur twice.
pub const TALE: &str = "Once upon a time a gate stood between two cities, Zürich and 東京, and its keeper wrote \
every traveller down: who came, who went, what it cost.\n\nNobody was forgotten, “not even the rain”, he said 🙂. \
So the years went by,  and the book grew long.";

/// The text before tool calls.
pub const LOOK: &str = "Let me look at the weather in both places first.";

const THOUGHT: &str = "The keeper must come first, then his book. ";
const PIECE: usize = 4;

/// Answers `tale`, `tale-again`, `tale-anew`, `tale-thought`, `tale-call`, `tale-calls`, optionally with a fault such
/// as `-cut-NNN`.
pub(super) fn answer(play: &Play<'_>, behaviour: &str) -> Answer {
    let (manner, fault, place) = read(behaviour);
    let calls = match manner {
        "tale-call" => 1,
        "tale-calls" => 2,
        _ => 0,
    };
    let text = if calls > 0 { LOOK } else { TALE };
    let begins = beginning(play, text, manner);
    let mut reply = Reply::new(play.asked);
    reply.content = pieces(&text[begins..], PIECE);
    if manner == "tale-thought" {
        reply.reasoning = words(THOUGHT);
    }
    reply.calls = (0..calls).map(|number| call(play, number)).collect();
    let Some(fault) = fault else { return play.render(&reply) };
    let sent = if manner.starts_with("tale-call") || manner == "tale-thought" {
        place
    } else {
        let most: String = text[begins..].chars().take(place).collect();
        reply.content = pieces(&most, PIECE);
        reply.content.len()
    };
    broken(play, &reply, sent, fault)
}

fn read(behaviour: &str) -> (&str, Option<&str>, usize) {
    for fault in ["cut", "reset", "eof", "hang", "error"] {
        if let Some((manner, rest)) = behaviour.split_once(&format!("-{fault}-"))
            && let Ok(place) = rest.parse()
        {
            return (manner, Some(fault), place);
        }
    }
    (behaviour, None, 0)
}

/// Position to begin at: after the part of the text in the assistant's last turn, if there is one.
fn beginning(play: &Play<'_>, text: &str, manner: &str) -> usize {
    let told = |said: &&String| !said.trim().is_empty() && text.starts_with(said.as_str());
    let mut turns = play.asked.texts.iter().rev();
    let Some(last) = turns.next() else { return 0 };
    if told(&last) {
        return last.len();
    }
    let Some(said) = turns.next().filter(told) else { return 0 };
    match manner {
        "tale-anew" => 0,
        "tale-again" => {
            let words = said.trim_end();
            let quoted = |start: &usize| last.ends_with(&words[*start..]);
            words.char_indices().map(|(start, _)| start).find(quoted).unwrap_or(said.len())
        }
        _ => said.len(),
    }
}

fn call(play: &Play<'_>, number: usize) -> ToolCall {
    let name = play.asked.tools.first().map_or("get_weather", |tool| &tool.name);
    let city = ["Paris", "Zürich"][number % 2];
    let arguments = pieces(&json!({"city": city}).to_string(), PIECE);
    ToolCall { name: name.to_owned(), arguments, custom: false }
}

/// Sends this many pieces of content, then the fault.
fn broken(play: &Play<'_>, reply: &Reply, sent: usize, fault: &str) -> Answer {
    let mut answer = play.render(reply);
    let costs = |step: &Step| matches!(step, Step::Send { completion: 1.., .. });
    let costly = answer.steps.iter().enumerate().filter(|(_, step)| costs(step));
    let last = costly.take(sent).last().map_or(1, |(index, _)| index + 1);
    answer.steps.truncate(last);
    let end = match fault {
        "cut" => vec![Step::Cut],
        "reset" => vec![Step::Reset],
        "hang" => vec![Step::Hang],
        "error" => vec![play.voice.failing_end(reply, last), Step::End],
        _ => vec![Step::End],
    };
    answer.steps.extend(end);
    answer.length = None;
    answer
}
