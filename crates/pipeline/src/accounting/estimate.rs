//! Estimates usage that no provider reported: the prompt with a real tokenizer, the output from its length.

use domain::usage::{Tokens, Usage};
use wire::prompt_texts::PromptTexts;

/// Longer prompts are estimated by length: tokenizing them would take up to a second of CPU time.
const TOKENIZER_LIMIT: usize = 1024 * 1024;

/// Tokens per message for the role and the separators that a chat template adds.
const MESSAGE_OVERHEAD: u64 = 4;

pub fn usage(model: &str, prompt: &[u8], content_bytes: u64) -> Usage {
    let tokens = Tokens {
        input: prompt_tokens(model, prompt),
        output: catalog::estimate_tokens_from_bytes(content_bytes),
        ..Tokens::default()
    };
    Usage { tokens, estimated: true, ..Usage::default() }
}

/// Estimates the usage of a continuation. Its prompt has so many bytes more, of the response so far.
pub fn rest(model: &str, prompt: &[u8], repeated: u64, content_bytes: u64, bound: Option<u64>) -> Usage {
    let mut usage = usage(model, prompt, content_bytes);
    usage.tokens.input += catalog::estimate_tokens_from_bytes(repeated);
    usage.tokens.output = output(content_bytes, bound);
    usage
}

/// Estimates output tokens from a length, up to the bound of the call.
pub fn output(content_bytes: u64, bound: Option<u64>) -> u64 {
    let tokens = catalog::estimate_tokens_from_bytes(content_bytes);
    bound.map_or(tokens, |bound| tokens.min(bound))
}

/// Counts the prompt's texts with the model's tokenizer.
pub fn prompt_tokens(model: &str, prompt: &[u8]) -> u64 {
    let by_length = catalog::estimate_tokens_from_bytes(prompt.len() as u64);
    if prompt.len() > TOKENIZER_LIMIT {
        return by_length;
    }
    let Some(texts) = PromptTexts::read(prompt) else { return by_length };
    let counted = catalog::count_tokens(model, &texts.prompt) + catalog::count_tokens(model, &texts.tools);
    counted + MESSAGE_OVERHEAD * texts.messages
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_is_counted_and_marked() {
        let usage = usage("gpt-4o", br#"{"messages":[{"role":"user","content":"hello world"}]}"#, 40);
        assert!(usage.estimated);
        assert_eq!(usage.tokens.output, 10);
        assert!((5..=12).contains(&usage.tokens.input), "{}", usage.tokens.input);
    }

    #[test]
    fn long_prompts_and_other_texts_are_counted_by_length() {
        let long = format!("{{\"messages\":[{}1]}}", "1,".repeat(TOKENIZER_LIMIT));
        assert_eq!(prompt_tokens("gpt-4o", long.as_bytes()), (long.len() as u64).div_ceil(4));
        assert_eq!(prompt_tokens("gpt-4o", b"[1,2,3,4]"), 3);
    }
}
