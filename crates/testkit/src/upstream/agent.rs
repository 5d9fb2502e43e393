//! The model side of a coding agent: asked to write a file, it calls the agent's own tool for that.

use serde_json::{Map, Value, json};

use super::parsed_request::{ParsedRequest, Tool};
use super::rejection::list;
use super::reply::{Reply, ToolCall, pieces, words};
use super::sample::sample;

const ORDER: &str = "write the file ";

/// Known tools in order of preference: the first one that the agent declares is called.
const TOOLS: [&str; 14] = [
    "Write",
    "write",
    "write_file",
    "create_file",
    "shell",
    "exec_command",
    "shell_command",
    "local_shell",
    "container.exec",
    "bash",
    "Bash",
    "run_shell_command",
    "run_terminal_cmd",
    "apply_patch",
];

struct Order {
    path: String,
    content: String,
}

pub(super) fn act(parsed: &ParsedRequest, reply: &mut Reply) {
    if parsed.any_result {
        reply.content = words("Done.");
        return;
    }
    let tool = TOOLS.iter().find_map(|name| parsed.tools.iter().find(|tool| tool.name == *name));
    let (Some(tool), Some(order)) = (tool, order(&parsed.user_text)) else { return };
    let text = if tool.custom { patch(&order) } else { arguments(tool, &order, parsed).to_string() };
    reply.content.clear();
    reply.calls =
        vec![ToolCall { name: tool.name.clone(), arguments: pieces(&text, 12), custom: tool.custom }];
}

/// Parses the last order: the name ends at a space, the content at the end of its line or its quotes.
fn order(text: &str) -> Option<Order> {
    let found = text.to_ascii_lowercase().rfind(ORDER)?;
    let (path, rest) = text[found + ORDER.len()..].split_once(char::is_whitespace)?;
    let rest = rest.trim_start().strip_prefix("with ")?.trim_start();
    let quote = rest.chars().next().filter(|first| "\"'`".contains(*first));
    let content = match quote.and_then(|quote| rest[1..].split_once(quote)) {
        Some((quoted, _)) => quoted,
        None => rest.lines().next().unwrap_or_default().trim_end(),
    };
    let path = path.trim_matches(['"', '\'', '`']);
    Some(Order { path: path.to_owned(), content: content.to_owned() })
}

/// The call's arguments: the required parameters, and those for the order, matched by name.
fn arguments(tool: &Tool, order: &Order, parsed: &ParsedRequest) -> Value {
    let required = list(&tool.schema["required"]);
    let mut arguments = Map::new();
    for (name, schema) in tool.schema["properties"].as_object().into_iter().flatten() {
        let value = match name.as_str() {
            "file_path" | "filePath" | "absolute_path" | "path" | "filename" => {
                json!(absolute(order, parsed))
            }
            "content" | "contents" | "file_text" => json!(order.content),
            "command" | "cmd" => command(order, schema),
            "input" | "patch" if tool.name == "apply_patch" => json!(patch(order)),
            "description" => json!("Write the file"),
            _ if required.contains(&json!(name)) => sample(schema),
            _ => continue,
        };
        arguments.insert(name.clone(), value);
    }
    Value::Object(arguments)
}

/// The absolute path. Agents state their working directory in the prompt, and some of their tools require absolute
/// paths.
fn absolute(order: &Order, parsed: &ParsedRequest) -> String {
    if order.path.starts_with('/') {
        return order.path.clone();
    }
    let directory = parsed.texts.iter().find_map(|text| {
        ["orking directory: ", "<cwd>", "orking in the directory: "].iter().find_map(|mark| {
            let after = &text[text.find(mark)? + mark.len()..];
            let end = after.find(['\n', '<']).unwrap_or(after.len());
            after[..end].trim().strip_suffix('/').or(Some(after[..end].trim()))
        })
    });
    match directory.filter(|directory| directory.starts_with('/')) {
        Some(directory) => format!("{directory}/{}", order.path),
        None => order.path.clone(),
    }
}

fn command(order: &Order, schema: &Value) -> Value {
    let quoted = |text: &str| format!("'{}'", text.replace('\'', "'\\''"));
    let line = format!("printf '%s' {} > {}", quoted(&order.content), quoted(&order.path));
    if schema["type"] == "array" { json!(["bash", "-lc", line]) } else { json!(line) }
}

fn patch(order: &Order) -> String {
    format!("*** Begin Patch\n*** Add File: {}\n+{}\n*** End Patch\n", order.path, order.content)
}
