//! The conversation of a call, for session affinity: a conversation stays with the target whose prompt cache is warm.

use std::borrow::Cow;

use domain::call::{Surface, Target};
use wire::codec::Request;
use wire::conversation::{prompt_start, without_cache_marks};

use super::Call;
use crate::call::context::CallContext;
use crate::policy::PromptCacheMode;
use crate::services::prompt_affinity::ConversationKey;

/// The shortest prompt with a conversation, in estimated tokens: providers cache none that is shorter, with few
/// exceptions.
const MIN_TOKENS: u64 = 1024;

impl Call {
    /// The target that answered the conversation of this call last, if its prompt cache may still hold it.
    pub fn warm_target(&self, context: &CallContext, session_id: Option<&str>) -> Option<Target> {
        if context.policy().prompt_cache != PromptCacheMode::Auto {
            return None;
        }
        let key = *self.conversation.get_or_init(|| self.conversation_key(context, session_id));
        context.gateway().prompt_affinity.find(key?, context.now())
    }

    /// Records the target that has answered the call, for the next call of the conversation. Calls that were not routed
    /// by [`Self::warm_target`] have no choice between targets, and are not recorded.
    pub fn record_answered_by(&self, target: &Target, context: &CallContext) {
        if let Some(Some(key)) = self.conversation.get() {
            context.gateway().prompt_affinity.record(*key, target, context.now());
        }
    }

    /// The key of the conversation: the caller, the model that it names, and its session or else the start of the prompt.
    /// It is that of the request as it came, because guardrails run after the targets are chosen.
    fn conversation_key(&self, context: &CallContext, session_id: Option<&str>) -> Option<ConversationKey> {
        let Request { body, object, model, .. } = self.original.as_deref().unwrap_or(&self.request);
        let tokens = catalog::estimate_tokens_from_bytes(body.len() as u64);
        if tokens < MIN_TOKENS || !matches!(self.surface, Surface::Converse(_)) {
            return None;
        }
        let owner = context.owner();
        let tenant = owner.tenant.as_deref().unwrap_or_default();
        let caller = [tenant, &owner.key, &owner.user_path, model.as_deref().unwrap_or_default()];
        let conversation: Vec<Cow<'_, [u8]>> = match session_id {
            Some(session_id) => vec![Cow::Borrowed(session_id.as_bytes())],
            None => prompt_start(body, object)?.into_iter().map(without_cache_marks).collect(),
        };
        let parts = caller.into_iter().map(str::as_bytes).chain(conversation.iter().map(|part| &**part));
        Some(context.gateway().prompt_affinity.key(parts))
    }
}
