//! Builds the request for the rest of a response that broke off.

#[cfg(test)]
mod tests;

use domain::call::Format;
use domain::canon::{Content, OutputFormat, Part, Prompt, Reply, Role, ToolCall, ToolChoice, Turn};
use wire::vendors::Rules;

use super::overlap::Overlap;

/// Fewest characters that are quoted from the end of the text: enough to be recognised.
const FEWEST_QUOTED: usize = 24;
/// Most characters that are quoted: longer ones are not always repeated verbatim.
const MOST_QUOTED: usize = 60;

/// Output tokens that are left for a response which is close to its limit.
const LEAST_OUTPUT: u64 = 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContinuationMethod {
    /// The last turn is the assistant's, and the model continues it.
    Prefill,
    /// A turn of the user asks for the rest.
    Instruct,
}

impl ContinuationMethod {
    pub fn of(rules: &Rules, format: Format) -> Self {
        // In other formats, the model answers a last assistant turn instead of continuing it.
        if rules.prefill && format == Format::Messages { Self::Prefill } else { Self::Instruct }
    }
}

/// Builds the prompt for the rest, and the overlap that the response may repeat.
pub fn ask(mut prompt: Prompt, so_far: &Reply, method: ContinuationMethod) -> (Prompt, Overlap) {
    let text: String = so_far.parts.iter().filter_map(Part::as_text).collect();
    let calls: Vec<&ToolCall> = so_far.parts.iter().filter_map(as_call).collect();
    if text.trim().is_empty() && calls.is_empty() {
        // Nothing was sent yet that the response could not start with again.
        return (prompt, Overlap::with_space_of(&text));
    }
    let spent = catalog::estimate_tokens_from_bytes(text.len() as u64);
    prompt.max_output = prompt.max_output.map(|max| max.saturating_sub(spent).max(LEAST_OUTPUT.min(max)));
    if !calls.is_empty() {
        release(&mut prompt.tool_choice);
    }
    // A schema applies to the whole response: with it, the model could only start again.
    let output = prompt.output.take();
    if method == ContinuationMethod::Prefill && calls.is_empty() {
        prefill(&mut prompt, &text);
        return (prompt, Overlap::with_space_of(&text));
    }
    if !text.trim().is_empty() {
        prompt.turns.push(Turn::new(Role::Assistant, vec![gateway_text(text.clone())]));
    }
    let instruction = instruction(&text, &calls, output.as_ref());
    prompt.turns.push(Turn::new(Role::User, vec![gateway_text(instruction)]));
    (prompt, Overlap::with_quoted(&text, last_words(&text)))
}

/// Whether a text may be complete, judged by its last character. If the continuation is empty, either there is nothing
/// left to say, or the model has not understood.
pub fn may_be_whole(so_far: &Reply) -> bool {
    let text = so_far.parts.iter().rev().find_map(Part::as_text).unwrap_or_default();
    text.trim_end()
        .chars()
        .next_back()
        .is_none_or(|last| !last.is_alphanumeric() && !matches!(last, ',' | ';' | '-'))
}

fn as_call(part: &Part) -> Option<&ToolCall> {
    match &part.content {
        Content::ToolCall(call) => Some(call),
        _ => None,
    }
}

/// A text part that the gateway wrote: it has no place in the client's body.
fn gateway_text(text: String) -> Part {
    Part::text(text).at("resumed")
}

/// Lifts a forced tool choice: the required call has been made.
fn release(choice: &mut Option<ToolChoice>) {
    match choice {
        Some(ToolChoice::Required | ToolChoice::Named(_)) => *choice = Some(ToolChoice::Auto),
        Some(ToolChoice::Among { required, .. }) => *required = false,
        _ => {}
    }
}

/// Appends the text to the assistant's turn if the client has begun one, otherwise adds a turn.
fn prefill(prompt: &mut Prompt, text: &str) {
    if let Some(Turn { role: Role::Assistant, parts }) = prompt.turns.last_mut() {
        match parts.last_mut().map(|part| &mut part.content) {
            Some(Content::Text(begun)) => begun.push_str(text),
            _ => parts.push(gateway_text(text.to_owned())),
        }
        return;
    }
    prompt.turns.push(Turn::new(Role::Assistant, vec![gateway_text(text.to_owned())]));
}

fn instruction(text: &str, calls: &[&ToolCall], output: Option<&OutputFormat>) -> String {
    let mut words = String::from("Your last message broke off because of a technical fault. ");
    if !calls.is_empty() {
        words.push_str("In it you had already called these tools; do not call them again in the same way:\n");
        for call in calls {
            words.push_str(&format!("- {} with {}\n", call.name, call.arguments));
        }
    }
    match output {
        Some(OutputFormat::Json) => words.push_str("As a whole it must become one JSON object. "),
        Some(OutputFormat::Schema { schema, .. }) => {
            words
                .push_str(&format!("As a whole it must become one JSON document of this schema: {schema}\n"));
        }
        None => {}
    }
    let quoted = last_words(text);
    if quoted.is_empty() {
        words.push_str("Go on with what was still to come. If nothing was, say nothing.");
        return words;
    }
    words.push_str(
        "Go on exactly where it broke off, as if it had not: begin by repeating its last words verbatim and continue \
         from there. Write nothing else: no introduction, no comment, no new beginning. Its last words are:\n",
    );
    words.push_str(quoted);
    words
}

/// The end of a text, in whole words if there are any.
fn last_words(text: &str) -> &str {
    let text = text.trim_end();
    let back = |count: usize| text.char_indices().rev().nth(count - 1).map_or(0, |(place, _)| place);
    let (latest, earliest) = (back(FEWEST_QUOTED), back(MOST_QUOTED));
    let space = text[earliest..latest].char_indices().rev().find(|(_, letter)| letter.is_whitespace());
    match space {
        Some((place, letter)) => &text[earliest + place + letter.len_utf8()..],
        None => &text[if earliest == 0 { 0 } else { latest }..],
    }
}
