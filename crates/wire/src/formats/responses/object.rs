//! Renders the response object, most of which repeats the client's request.

use domain::canon::StopReason;
use domain::fault::Fault;
use serde_json::{Map, Value, json};

use super::stop;
use crate::codec::{EchoedRequest, Rendering};
use crate::json::Quoted;

/// The constant parts of the response object, rendered once.
pub struct Object {
    head: String,
    middle: String,
    tail: String,
}

/// The state of a response.
pub enum State<'a> {
    InProgress,
    Ended {
        stop: &'a StopReason,
        /// Whether the output contains a refusal.
        refused: bool,
    },
    Failed(&'a Fault),
}

impl Object {
    pub fn new(rendering: &Rendering) -> Self {
        let model = format!("{}/{}", rendering.provider, rendering.model);
        let head = format!(
            r#""id":{},"object":"response","created_at":{}"#,
            Quoted(&rendering.ids.answer("resp_")),
            rendering.created
        );
        let mut echo = Echo { request: &rendering.request, written: String::new() };
        for name in ["instructions", "max_output_tokens", "max_tool_calls"] {
            echo.member(name, &Value::Null);
        }
        echo.written.push_str(&format!("\"model\":{},", Quoted(&model)));
        let middle = std::mem::take(&mut echo.written);
        echo.member("parallel_tool_calls", &true.into());
        for name in ["previous_response_id", "prompt_cache_key"] {
            echo.member(name, &Value::Null);
        }
        echo.filled("reasoning", json!({"effort": null, "summary": null}));
        echo.member("safety_identifier", &Value::Null);
        echo.member("service_tier", &"default".into());
        echo.member("store", &true.into());
        echo.member("temperature", &1.0.into());
        echo.filled("text", json!({"format": {"type": "text"}}));
        echo.member("tool_choice", &"auto".into());
        echo.member("tools", &json!([]));
        echo.member("top_logprobs", &0.into());
        echo.member("top_p", &1.0.into());
        echo.member("truncation", &"disabled".into());
        echo.member("user", &Value::Null);
        echo.member("metadata", &json!({}));
        Self { head, middle, tail: echo.written }
    }

    /// Renders the complete object with the finished items.
    pub fn write<'a>(
        &self,
        state: &State<'_>,
        items: impl Iterator<Item = &'a str>,
        usage: Option<&Value>,
    ) -> String {
        let status = state.status();
        let error = match state {
            State::Failed(fault) => {
                format!(r#"{{"code":{},"message":{}}}"#, Quoted(fault.code.as_str()), Quoted(&fault.message))
            }
            _ => "null".to_owned(),
        };
        let details = match state.shortfall() {
            Some(reason) => format!(r#"{{"reason":"{reason}"}}"#),
            None => "null".to_owned(),
        };
        let output = items.collect::<Vec<_>>().join(",");
        let usage = usage.map_or_else(|| "null".to_owned(), Value::to_string);
        let Self { head, middle, tail } = self;
        format!(
            r#"{{{head},"status":"{status}","background":false,"error":{error},"incomplete_details":{details},{middle}"output":[{output}],{tail}"usage":{usage}}}"#
        )
    }
}

impl State<'_> {
    pub fn status(&self) -> &'static str {
        match self {
            Self::InProgress => "in_progress",
            Self::Failed(_) => "failed",
            Self::Ended { .. } if self.shortfall().is_some() => "incomplete",
            Self::Ended { .. } => "completed",
        }
    }

    /// The reason of an incomplete response.
    fn shortfall(&self) -> Option<&'static str> {
        match self {
            Self::Ended { stop, refused } => stop::write(stop, *refused),
            Self::InProgress | Self::Failed(_) => None,
        }
    }
}

struct Echo<'a> {
    request: &'a EchoedRequest,
    written: String,
}

impl Echo<'_> {
    fn member(&mut self, name: &str, default: &Value) {
        match self.request.member(name) {
            Some(value) => self.written.push_str(&format!("\"{name}\":{value},")),
            None => self.written.push_str(&format!("\"{name}\":{default},")),
        }
    }

    /// Writes an object member whose members have defaults.
    fn filled(&mut self, name: &str, mut value: Value) {
        let given = self.request.member(name);
        let given = given.and_then(|text| serde_json::from_str::<Map<String, Value>>(&text).ok());
        if let (Some(given), Some(members)) = (given, value.as_object_mut()) {
            members.extend(given.into_iter().filter(|(_, value)| !value.is_null()));
        }
        self.written.push_str(&format!("\"{name}\":{value},"));
    }
}
