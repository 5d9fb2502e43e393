//! Tests of the request for the rest, by the text and tool calls so far.

use domain::canon::StopReason;

use super::*;

fn reply(parts: Vec<Part>) -> Reply {
    Reply { parts, stop: StopReason::EndTurn, ..Reply::default() }
}

fn call() -> Part {
    let (id, name, arguments) = ("c".into(), "look".into(), "{\"at\":\"it\"}".into());
    Part::new(Content::ToolCall(ToolCall { id, name, arguments, custom: false, opaque: None }))
}

fn prompt() -> Prompt {
    let mut prompt = Prompt::new(Format::Chat);
    prompt.turns = vec![Turn::new(Role::User, vec![Part::text("Tell me.")])];
    prompt
}

fn shape(prompt: &Prompt) -> Vec<(Role, String)> {
    prompt.turns.iter().map(|turn| (turn.role, turn.joined_text())).collect()
}

#[test]
fn prefill_models_get_the_text_as_the_last_turn() {
    let (asked, mut overlap) =
        ask(prompt(), &reply(vec![Part::text("Once upon ")]), ContinuationMethod::Prefill);
    assert_eq!(shape(&asked)[1], (Role::Assistant, "Once upon ".into()));
    assert_eq!(asked.turns.len(), 2);
    assert_eq!(overlap.push(" a time"), "a time");
    let mut begun = prompt();
    begun.turns.push(Turn::new(Role::Assistant, vec![Part::text("Well: ")]));
    let (asked, _) = ask(begun, &reply(vec![Part::text("once")]), ContinuationMethod::Prefill);
    assert_eq!(shape(&asked)[1..], [(Role::Assistant, "Well: once".into())]);
}

#[test]
fn other_models_get_an_instruction_with_the_last_words() {
    let text = "Once upon a time there was a gateway that never gave up ";
    let (asked, mut overlap) = ask(prompt(), &reply(vec![Part::text(text)]), ContinuationMethod::Instruct);
    let turns = shape(&asked);
    assert_eq!(turns[1], (Role::Assistant, text.into()));
    assert_eq!(turns[2].0, Role::User);
    assert!(turns[2].1.ends_with(":\ngateway that never gave up"), "{}", turns[2].1);
    assert_eq!(overlap.push("gateway that never gave up and"), "and");
}

#[test]
fn an_empty_answer_repeats_the_request_and_lists_calls() {
    let thought = Part::new(Content::Thinking(Default::default()));
    for way in [ContinuationMethod::Prefill, ContinuationMethod::Instruct] {
        assert_eq!(ask(prompt(), &reply(vec![thought.clone(), Part::text(" ")]), way).0, prompt());
        let mut forced = prompt();
        forced.tool_choice = Some(ToolChoice::Required);
        let (asked, _) = ask(forced, &reply(vec![call()]), way);
        let turns = shape(&asked);
        assert_eq!(turns.len(), 2);
        assert!(turns[1].1.contains("- look with {\"at\":\"it\"}"), "{}", turns[1].1);
        assert_eq!(asked.tool_choice, Some(ToolChoice::Auto));
    }
}

#[test]
fn a_schema_becomes_an_instruction_and_the_output_limit_shrinks() {
    let mut limited = prompt();
    limited.max_output = Some(1000);
    limited.output = Some(OutputFormat::Schema {
        name: "s".into(),
        description: None,
        schema: serde_json::json!({"type": "object"}),
        strict: None,
    });
    let (asked, _) =
        ask(limited, &reply(vec![Part::text("{\"a\":".repeat(100))]), ContinuationMethod::Instruct);
    assert_eq!(asked.output, None);
    assert!(shape(&asked)[2].1.contains("{\"type\":\"object\"}"));
    assert!(asked.max_output.is_some_and(|most| (64..1000).contains(&most)), "{:?}", asked.max_output);
}

#[test]
fn enough_words_are_quoted() {
    for text in ["short", "ein etwas längerer Text, der weit genug geht", &"ß".repeat(100), "a\n\nb", ""] {
        let quoted = last_words(text);
        assert!(text.ends_with(quoted), "{text}");
        let count = quoted.chars().count();
        assert!(count <= MOST_QUOTED && (count >= FEWEST_QUOTED || quoted == text), "{quoted}");
    }
}
