//! Guardrails in compiled form: patterns and rules, ready to search.

use std::sync::{Arc, LazyLock, OnceLock};

use ::guardrails::detector::Detector;
use ::guardrails::injection::{self, InjectionRules};
use ::guardrails::kind::PiiKind;
use ::guardrails::patterns::{PatternSet, PatternUse};
use ::guardrails::pii;
use domain::canon::Role;
use domain::fault::{self, Fault};
use domain::resources::guardrail::{
    AlteringConfig, ClassifierUse, Direction, Guardrail, GuardrailConfig, GuardrailMode, InjectionAction,
    InjectionConfig, LengthConfig, MatchAction, OnUnreadable, PiiAction, PiiConfig, RegexConfig, Sensitivity,
    SystemPromptConfig, TextRole, WebhookConfig,
};
use domain::user_path::UserPath;
use egress::Destination;

/// A guardrail that is ready to inspect texts. Shared by all calls.
pub struct CompiledGuardrail {
    document: Guardrail,
    pub(super) check: Check,
}

/// The operation of a guardrail: an edit of the instructions, a search, a score or a length limit.
pub(super) enum Check {
    SystemPrompt(SystemPromptConfig),
    Find(Finder),
    Injection(InjectionCheck),
    Length(LengthConfig),
    Alter(AlteringConfig),
    Webhook(WebhookCheck),
}

/// A search for patterns or kinds of personal data.
pub(super) struct Finder {
    pub detector: Arc<Detector>,
    pub action: FinderAction,
    /// All roles if empty.
    roles: Vec<TextRole>,
}

/// The effect of a finding.
#[derive(PartialEq)]
pub(super) enum FinderAction {
    Block,
    Replace(Replacement),
}

/// The text in place of a finding.
#[derive(PartialEq)]
pub(super) enum Replacement {
    Fixed(String),
    /// The name of its kind.
    Kind,
    /// A placeholder that is restored in the answer.
    Reversible,
}

/// The scoring of texts for prompt injection.
pub(super) struct InjectionCheck {
    pub rules: &'static InjectionRules,
    pub sensitivity: injection::Sensitivity,
    pub blocks: bool,
    /// Whether a classifier scores the texts, too, if one is imported.
    pub uses_classifier: bool,
}

/// A call to a server that decides about the texts.
pub struct WebhookCheck {
    pub config: WebhookConfig,
    /// Its address with the path, after the first call. Kept, because the connections to it are kept with it.
    pub destination: OnceLock<(Arc<Destination>, String)>,
}

/// The reason why a guardrail does not compile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompileError {
    /// The field, as in a request to the admin API.
    pub param: String,
    pub message: String,
}

impl CompileError {
    fn new(param: impl Into<String>, message: impl Into<String>) -> Self {
        Self { param: param.into(), message: message.into() }
    }
}

impl From<CompileError> for Fault {
    fn from(error: CompileError) -> Self {
        fault::invalid_parameter(error.param, error.message)
    }
}

/// Compiled when the first guardrail needs them; `None` if that fails.
static INJECTION_RULES: LazyLock<Option<InjectionRules>> = LazyLock::new(|| InjectionRules::new().ok());

impl CompiledGuardrail {
    pub fn compile(document: Guardrail) -> Result<Self, CompileError> {
        let check = match &document.config {
            GuardrailConfig::SystemPrompt(config) => Check::SystemPrompt(config.clone()),
            GuardrailConfig::RegexBlock(config) => Check::Find(regex_finder(config, document.direction)?),
            GuardrailConfig::PiiRedact(config) => Check::Find(pii_finder(config)?),
            GuardrailConfig::PromptInjection(config) => Check::Injection(injection_check(config)?),
            GuardrailConfig::LengthLimit(config) => Check::Length(*config),
            GuardrailConfig::LlmBasedAltering(config) => Check::Alter(config.clone()),
            GuardrailConfig::Webhook(config) => {
                Check::Webhook(WebhookCheck { config: config.clone(), destination: OnceLock::new() })
            }
        };
        Ok(Self { document, check })
    }

    pub fn document(&self) -> &Guardrail {
        &self.document
    }

    pub fn name(&self) -> &str {
        &self.document.name
    }

    pub(super) fn is_enforced(&self) -> bool {
        self.document.mode == GuardrailMode::Enforce
    }

    /// Whether its replacements are restored in the answer.
    pub(super) fn is_reversible(&self) -> bool {
        let reversible = FinderAction::Replace(Replacement::Reversible);
        self.is_enforced() && matches!(&self.check, Check::Find(finder) if finder.action == reversible)
    }

    /// Whether it blocks content that cannot be inspected.
    pub(super) fn blocks_unreadable(&self) -> bool {
        self.is_enforced() && self.document.on_unreadable == OnUnreadable::Block
    }

    /// Whether it applies to calls on this path.
    pub(super) fn covers(&self, path: &UserPath) -> bool {
        self.document.user_path.as_ref().is_none_or(|own| own.covers(path))
    }

    pub(super) fn inspects_requests(&self) -> bool {
        self.document.direction.includes_input()
    }

    /// Whether it scores texts by the classifier, if one is imported.
    pub fn uses_classifier(&self) -> bool {
        matches!(&self.check, Check::Injection(check) if check.uses_classifier)
    }

    /// Its webhook, if it has one.
    pub fn webhook(&self) -> Option<&WebhookCheck> {
        match &self.check {
            Check::Webhook(check) => Some(check),
            _ => None,
        }
    }

    /// The settings of a guardrail that lets a model alter texts.
    pub fn altering(&self) -> Option<&AlteringConfig> {
        match &self.check {
            Check::Alter(config) => Some(config),
            _ => None,
        }
    }

    /// Whether a webhook or a model is asked about the texts.
    pub fn is_remote(&self) -> bool {
        matches!(self.check, Check::Alter(_) | Check::Webhook(_))
    }

    /// Whether it inspects answers. Instructions and injection concern requests alone.
    pub(super) fn inspects_answers(&self) -> bool {
        self.document.direction.includes_output()
            && !matches!(self.check, Check::SystemPrompt(_) | Check::Injection(_))
    }

    /// Whether it redacts records. Only findings can be redacted.
    pub(super) fn inspects_records(&self) -> bool {
        self.document.direction == Direction::Log && matches!(self.check, Check::Find(_))
    }
}

impl Finder {
    pub fn inspects(&self, role: Role) -> bool {
        includes_role(&self.roles, role)
    }
}

/// Whether texts of a role are inspected. An empty list has all roles.
pub fn includes_role(roles: &[TextRole], role: Role) -> bool {
    let named = match role {
        Role::System => TextRole::System,
        Role::Developer => TextRole::Developer,
        Role::User => TextRole::User,
        Role::Assistant => TextRole::Assistant,
        Role::Tool => TextRole::Tool,
    };
    roles.is_empty() || roles.contains(&named)
}

fn regex_finder(config: &RegexConfig, direction: Direction) -> Result<Finder, CompileError> {
    // Streams need patterns whose matches have a maximum length.
    let usage = if direction == Direction::Input { PatternUse::Input } else { PatternUse::Output };
    let patterns = PatternSet::compile(&config.patterns, usage).map_err(|error| {
        CompileError::new(format!("config.patterns[{}]", error.index), format!("Pattern: {}.", error.problem))
    })?;
    let action = match config.action {
        MatchAction::Block => FinderAction::Block,
        MatchAction::Sanitize => FinderAction::Replace(Replacement::Fixed(config.replacement.clone())),
    };
    let detector = Arc::new(patterns.into_detector());
    Ok(Finder { detector, action, roles: config.roles.clone() })
}

fn pii_finder(config: &PiiConfig) -> Result<Finder, CompileError> {
    let parse = |(index, name): (usize, &String)| {
        name.parse::<PiiKind>().map_err(|_| {
            let known = PiiKind::ALL.map(PiiKind::name).join(", ");
            CompileError::new(format!("config.kinds[{index}]"), format!("The kinds are {known}."))
        })
    };
    let kinds = match config.kinds.is_empty() {
        true => PiiKind::defaults().collect(),
        false => config.kinds.iter().enumerate().map(parse).collect::<Result<Vec<_>, _>>()?,
    };
    let action = match (config.action, config.reversible) {
        (PiiAction::Block, _) => FinderAction::Block,
        (PiiAction::Redact, true) => FinderAction::Replace(Replacement::Reversible),
        (PiiAction::Redact, false) => FinderAction::Replace(Replacement::Kind),
    };
    let detector = pii::detector(&kinds)
        .map_err(|_| CompileError::new("config.kinds", "The rules of these kinds do not compile."))?;
    Ok(Finder { detector: Arc::new(detector), action, roles: config.roles.clone() })
}

fn injection_check(config: &InjectionConfig) -> Result<InjectionCheck, CompileError> {
    let rules = INJECTION_RULES.as_ref();
    let rules = rules.ok_or_else(|| CompileError::new("type", "The rules do not compile."))?;
    let sensitivity = match config.sensitivity {
        Sensitivity::Low => injection::Sensitivity::Low,
        Sensitivity::Medium => injection::Sensitivity::Medium,
        Sensitivity::High => injection::Sensitivity::High,
    };
    Ok(InjectionCheck {
        rules,
        sensitivity,
        blocks: config.action == InjectionAction::Block,
        uses_classifier: config.classifier == ClassifierUse::Auto,
    })
}
