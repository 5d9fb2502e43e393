//! The canonical request.

use serde_json::{Map, Value};

use super::{Content, Part, Tool, ToolChoice};
use crate::call::Format;
use crate::fault::{self, Fault};

#[derive(Clone, Debug, PartialEq)]
pub struct Prompt {
    /// The client's format; `extra` and foreign parts belong to it.
    pub format: Format,
    pub turns: Vec<Turn>,
    pub tools: Vec<Tool>,
    pub tool_choice: Option<ToolChoice>,
    pub parallel_tools: Option<bool>,
    pub output: Option<OutputFormat>,
    pub max_output: Option<u64>,
    pub sampling: Sampling,
    pub stop: Vec<String>,
    pub reasoning: Option<Reasoning>,
    /// Verbosity of the answer: `low`, `medium`, `high`.
    pub verbosity: Option<String>,
    /// The end user id sent by the client.
    pub user: Option<String>,
    /// Labels sent by the client.
    pub metadata: Option<Value>,
    pub service_tier: Option<String>,
    /// Number of answers; only chat completions can request several.
    pub choices: u64,
    /// All other fields of the client's request, unchanged.
    pub extra: Map<String, Value>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Turn {
    pub role: Role,
    pub parts: Vec<Part>,
}

/// The role of a turn. Tool results have turns of their own; formats that put them into user turns split and merge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    System,
    Developer,
    User,
    Assistant,
    Tool,
}

#[derive(Clone, Debug, PartialEq)]
pub enum OutputFormat {
    /// Any JSON object.
    Json,
    Schema {
        name: String,
        description: Option<String>,
        schema: Value,
        strict: Option<bool>,
    },
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sampling {
    pub temperature: Option<f64>,
    pub top_p: Option<f64>,
    pub top_k: Option<u64>,
    pub seed: Option<i64>,
    pub presence_penalty: Option<f64>,
    pub frequency_penalty: Option<f64>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reasoning {
    /// `Some(false)`: the client disabled reasoning.
    pub enabled: Option<bool>,
    pub effort: Option<Effort>,
    /// The maximum number of reasoning tokens.
    pub budget: Option<u64>,
    /// The model decides how much to reason (Anthropic's `adaptive`, Gemini's budget -1).
    pub adaptive: bool,
    /// The kind of readable summary requested: `auto`, `concise`, `detailed`, `summarized`; `none` for no summary.
    pub summary: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effort {
    Minimal,
    Low,
    Medium,
    High,
    XHigh,
    Max,
}

impl Effort {
    pub const ALL: [Self; 6] = [Self::Minimal, Self::Low, Self::Medium, Self::High, Self::XHigh, Self::Max];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Minimal => "minimal",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::XHigh => "xhigh",
            Self::Max => "max",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|effort| effort.as_str() == text)
    }

    /// The reasoning budget in tokens, for targets that take a budget instead of an effort.
    pub fn budget(self) -> u64 {
        match self {
            Self::Minimal => 1024,
            Self::Low => 2048,
            Self::Medium => 8192,
            Self::High => 16_384,
            Self::XHigh => 24_576,
            Self::Max => 32_000,
        }
    }

    pub fn of_budget(budget: u64) -> Self {
        Self::ALL.into_iter().rev().find(|effort| effort.budget() <= budget).unwrap_or(Self::Minimal)
    }
}

impl Prompt {
    pub fn new(format: Format) -> Self {
        Self {
            format,
            turns: Vec::new(),
            tools: Vec::new(),
            tool_choice: None,
            parallel_tools: None,
            output: None,
            max_output: None,
            sampling: Sampling::default(),
            stop: Vec::new(),
            reasoning: None,
            verbosity: None,
            user: None,
            metadata: None,
            service_tier: None,
            choices: 1,
            extra: Map::new(),
        }
    }

    /// Sets the tool name of every result from its call. Fails if no earlier call has the id of a result; `field` is
    /// the name of the id field in the client's format, such as `tool_call_id`, for the error message.
    pub fn pair_results(&mut self, field: &str) -> Result<(), Fault> {
        let mut called: Vec<(String, String)> = Vec::new();
        for part in self.turns.iter_mut().flat_map(|turn| &mut turn.parts) {
            match &mut part.content {
                Content::ToolCall(call) => called.push((call.id.clone(), call.name.clone())),
                Content::ToolResult(result) => {
                    let Some((_, name)) = called.iter().rev().find(|(id, _)| *id == result.call_id) else {
                        return Err(orphan(&part.place.0, field, &result.call_id));
                    };
                    result.name.get_or_insert_with(|| name.clone());
                }
                _ => {}
            }
        }
        Ok(())
    }
}

fn orphan(place: &str, field: &str, id: &str) -> Fault {
    let param = format!("{place}.{field}");
    let shown: String = id.chars().take(64).collect();
    let message = format!(
        "'{param}': no earlier tool call has the id '{shown}'; a result must follow the call it answers."
    );
    fault::invalid_parameter(param, message)
}

impl Turn {
    pub fn new(role: Role, parts: Vec<Part>) -> Self {
        Self { role, parts }
    }

    /// The text of its text parts, joined by blank lines.
    pub fn joined_text(&self) -> String {
        self.parts.iter().filter_map(Part::as_text).collect::<Vec<_>>().join("\n\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::canon::{ToolCall, ToolResult};

    fn call(id: &str) -> Part {
        Part::new(Content::ToolCall(ToolCall {
            id: id.into(),
            name: "look".into(),
            arguments: "{}".into(),
            custom: false,
            opaque: None,
        }))
    }

    fn result(id: &str) -> Part {
        let result = ToolResult { call_id: id.into(), name: None, parts: vec![], is_error: false };
        Part::new(Content::ToolResult(result)).at("messages[1]")
    }

    #[test]
    fn results_learn_their_name_and_orphans_are_refused() {
        let mut prompt = Prompt::new(Format::Chat);
        prompt.turns =
            vec![Turn::new(Role::Assistant, vec![call("a")]), Turn::new(Role::Tool, vec![result("a")])];
        prompt.pair_results("tool_call_id").unwrap();
        let Content::ToolResult(paired) = &prompt.turns[1].parts[0].content else { panic!() };
        assert_eq!(paired.name.as_deref(), Some("look"));
        prompt.turns[1].parts = vec![result("b")];
        let fault = prompt.pair_results("tool_call_id").unwrap_err();
        assert_eq!(fault.param.as_deref(), Some("messages[1].tool_call_id"));
    }

    #[test]
    fn efforts_and_budgets_agree() {
        for effort in Effort::ALL {
            assert_eq!(Effort::of_budget(effort.budget()), effort);
            assert_eq!(Effort::parse(effort.as_str()), Some(effort));
        }
        assert_eq!(Effort::of_budget(10), Effort::Minimal);
    }
}
