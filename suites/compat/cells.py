"""The grid: clients, providers, features, and the expectations for each."""

import dataclasses

INGRESSES = ("chat", "responses", "messages", "generate")


@dataclasses.dataclass(frozen=True)
class Family:
    """A model generation. Its name selects the scripted upstream's validation rules."""

    name: str
    thinks: bool = True
    # Whether reasoning is counted but not shown in the chat format.
    secretive: bool = False
    sampling: bool = True
    # The only format it is served in, regardless of its provider.
    only: str = ""


@dataclasses.dataclass(frozen=True)
class Provider:
    title: str
    # Instance name in the gateway; the environment variables derive from it.
    instance: str
    path: str
    families: tuple
    # The upstream format, unless the provider also serves the client's format.
    format: str = "chat"
    others: tuple = ()
    # Names without a behaviour, which the gateway's catalogue contains.
    catalogued: tuple = ()

    def dialect(self, ingress):
        return ingress if ingress in self.others else self.format

    @property
    def variable(self):
        return self.instance.upper().replace("-", "_")


GPT_5 = Family("gpt-5-mini", secretive=True, sampling=False)
GPT_4 = Family("gpt-4.1", thinks=False)
O_SERIES = Family("o4-mini", secretive=True, sampling=False)
CODEX = Family("gpt-5-codex", secretive=True, sampling=False, only="responses")
OPUS = Family("claude-opus-4-8", sampling=False)
SONNET = Family("claude-sonnet-4-5")
OLD_SONNET = Family("claude-3-5-sonnet-20241022", thinks=False)
OPUS_5 = Family("claude-opus-5", sampling=False)

PROVIDERS = (
    Provider("OpenAI", "openai", "/v1", (GPT_5, GPT_4, O_SERIES, CODEX), others=("responses",)),
    Provider(
        "Anthropic",
        "anthropic",
        "/v1",
        (OPUS, SONNET, OLD_SONNET, OPUS_5),
        format="messages",
        catalogued=("claude-opus-4-1", "claude-sonnet-4-5"),
    ),
    Provider(
        "Gemini", "gemini", "/v1beta", (Family("gemini-3-pro"), Family("gemini-2.5-flash")), format="generate"
    ),
    Provider(
        "OpenAI-compatible",
        "openai_compatible",
        "/v1",
        (Family("qwen3-32b"), Family("mixtral-8x7b", thinks=False)),
    ),
    Provider("Azure OpenAI", "azure", "", (GPT_5, GPT_4)),
    Provider("Ollama", "ollama", "/ollama/v1", (Family("qwen3"), Family("llama3", thinks=False))),
)

# In the order of the tables. The last one is our own: every parameter of a format is translated or reported as dropped.
FEATURES = {
    "text": "text",
    "stream": "stream",
    "system": "system and developer",
    "tools": "tools",
    "parallel": "parallel tools",
    "results": "tool results round trip",
    "images": "images",
    "schema": "JSON schema",
    "thinking": "thinking",
    "stops": "stop reasons",
    "usage": "usage with cached tokens",
    "error": "error before the stream",
    "broken": "error inside the stream",
    "settings": "every parameter passed or reported",
}

BEHAVIOURS = (
    "text",
    "echo",
    "tools",
    "parallel-tools",
    "see",
    "schema",
    "reasoning",
    "redacted",
    "stop",
    "max-tokens",
    "refusal",
    "content-filter",
    "cached",
    "error-400",
    "error-429",
    "error-503",
    "unauthorized",
    "error-in-stream",
    "error-after-content",
    "cut-mid-stream",
    "hang-mid-stream",
    "eof-mid-stream",
    "html",
    "bad-json",
    "empty-body",
    "no-usage",
    "drip-20",
    "long",
    "empty",
)

# The scripted upstream's texts.
PROMPT = "one two three"
GREETING = "Hello from the upstream. You said: one two three"
GREETING_PIECES = 9
THOUGHT = "Let me think about that first."
CUT = "Hello from the "

TOOL = "get_weather"
TOOL_SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string", "description": "Where"}},
    "required": ["city"],
    "additionalProperties": False,
}
CITIES = ({"city": "Paris"}, {"city": "Zürich"})
RESULTS = ("18 degrees", "21 degrees")

# One red pixel.
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
PIXEL_SEEN = "I see 1 images: image/png 70 bytes"


@dataclasses.dataclass
class Cell:
    """One feature of one model family, called in one client format."""

    app: object
    ingress: str
    provider: Provider
    family: Family
    feature: str
    dropped: set = dataclasses.field(default_factory=set)

    @property
    def name(self):
        return f"{self.ingress} → {self.provider.instance}/{self.family.name}: {self.feature}"

    @property
    def dialect(self):
        return self.family.only or self.provider.dialect(self.ingress)

    @property
    def native(self):
        return self.dialect == self.ingress

    @property
    def shows_thoughts(self):
        # Summaries must be requested, and chat completions have no parameter for that.
        return not (self.family.secretive and (self.dialect == "chat" or self.ingress == "chat"))

    def model(self, behaviour):
        return f"{self.provider.instance}/{self.family.name}~{behaviour}"

    def call(self):
        return self.app.call(self)


def applies(feature, family):
    return feature != "thinking" or family.thinks


def grid(app):
    for ingress in INGRESSES:
        for provider in PROVIDERS:
            for feature in FEATURES:
                for family in provider.families:
                    if applies(feature, family):
                        yield Cell(app, ingress, provider, family, feature)


def system_texts(body, dialect):
    """The system instructions in a provider's request, in order."""
    if dialect == "messages":
        system = body.get("system") or []
        return [system] if isinstance(system, str) else [block["text"] for block in system]
    if dialect == "generate":
        return [part["text"] for part in body.get("systemInstruction", {}).get("parts", [])]
    if dialect == "responses":
        instructions = [body["instructions"]] if body.get("instructions") else []
        items = body["input"] if isinstance(body["input"], list) else []
        return instructions + [text_of(item["content"]) for item in items if item.get("role") in ("system", "developer")]
    return [
        text_of(message["content"]) for message in body["messages"] if message["role"] in ("system", "developer")
    ]


def text_of(content):
    return content if isinstance(content, str) else " ".join(part["text"] for part in content)
