//! The list of all tools, one file each.

mod amp;
mod claude_code;
mod cline;
mod codex;
mod continue_dev;
mod cursor;
mod deepseek_tui;
mod gemini_cli;
mod generic;
mod jcode;
mod kilo;
mod openclaw;
mod opencode;
mod qwen;
mod roo;
#[cfg(test)]
mod tests;

use crate::tool::Tool;

/// The tools that the admin API serves.
pub static SERVED: [&Tool; 14] = [
    &claude_code::TOOL,
    &codex::TOOL,
    &opencode::TOOL,
    &openclaw::TOOL,
    &cursor::TOOL,
    &cline::TOOL,
    &kilo::TOOL,
    &roo::TOOL,
    &continue_dev::TOOL,
    &amp::TOOL,
    &qwen::TOOL,
    &deepseek_tui::TOOL,
    &jcode::TOOL,
    &generic::TOOL,
];

/// All tools: those that the admin API serves, and those for `gatehouse connect` alone.
pub fn all() -> impl Iterator<Item = &'static Tool> {
    SERVED.into_iter().chain([&gemini_cli::TOOL])
}

/// The tool with this id.
pub fn find(id: &str) -> Option<&'static Tool> {
    all().find(|tool| tool.id == id)
}
