"""The coding agents: headless start without network and earlier state, and parsing of the answer."""

import dataclasses
import json
import os
import pathlib

# Disables updates, telemetry and prompts.
QUIET_CLAUDE = {
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "DISABLE_TELEMETRY": "1",
}
QUIET_OPENCODE = {
    "OPENCODE_DISABLE_AUTOUPDATE": "1",
    "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
    "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
    "OPENCODE_DISABLE_MODELS_FETCH": "1",
    "OPENCODE_DISABLE_SHARE": "1",
}


@dataclasses.dataclass
class Workspace:
    """An agent's working environment: its own home, an empty project, and the gateway as its only provider."""

    home: pathlib.Path
    project: pathlib.Path
    address: str
    key: str
    model: str
    # Whether it may retry failed requests, as it does by default.
    retries: bool = False


class AgentError(Exception):
    """The agent failed, or its answer was not the expected one."""


class ClaudeCode:
    name = "claude-code"
    command = "claude"

    def prepare(self, workspace):
        environment = {
            "CLAUDE_CONFIG_DIR": str(workspace.home / "claude"),
            # Required to skip permission prompts as root.
            "IS_SANDBOX": "1",
            "ANTHROPIC_BASE_URL": workspace.address,
            "ANTHROPIC_AUTH_TOKEN": workspace.key,
            "ANTHROPIC_MODEL": workspace.model,
            "ANTHROPIC_SMALL_FAST_MODEL": workspace.model,
            "ANTHROPIC_DEFAULT_HAIKU_MODEL": workspace.model,
        }
        return ["-p", "--output-format", "json", "--dangerously-skip-permissions"], environment | QUIET_CLAUDE

    def answer(self, output, errors):
        result = json.loads(output)
        if result["is_error"]:
            raise AgentError(f"{result['subtype']}: {result.get('result')}")
        return result["result"]


class Codex:
    command = "codex"

    def __init__(self, websocket):
        self.websocket = websocket
        self.name = "codex-ws" if websocket else "codex-sse"

    def prepare(self, workspace):
        (workspace.home / "config.toml").write_text(self.configuration(workspace))
        environment = {
            "CODEX_HOME": str(workspace.home),
            "GATEHOUSE_KEY": workspace.key,
            # Makes it log the transport it uses.
            "RUST_LOG": "error,codex_api=info",
        }
        return ["exec", "--skip-git-repo-check", "--strict-config", "--json"], environment

    def configuration(self, workspace):
        """Renders the TOML configuration; JSON strings are valid TOML strings."""
        top = {"model": workspace.model, "model_provider": "gatehouse", "approval_policy": "never"}
        top |= {"sandbox_mode": "danger-full-access", "check_for_update_on_startup": False}
        provider = {"name": "gatehouse", "base_url": f"{workspace.address}/v1", "env_key": "GATEHOUSE_KEY"}
        provider |= {"wire_api": "responses", "supports_websockets": self.websocket}
        # A retry would hide the first failure.
        if not workspace.retries:
            provider |= {"request_max_retries": 0, "stream_max_retries": 0}
        # It retries even a 401, by default five times, and no response header stops it.
        else:
            provider |= {"stream_max_retries": 1}
        tables = {None: top, "analytics": {"enabled": False}, "model_providers.gatehouse": provider}
        lines = []
        for name, table in tables.items():
            lines += [f"[{name}]"] if name else []
            lines += [f"{key} = {json.dumps(value)}" for key, value in table.items()]
        return "\n".join(lines) + "\n"

    def answer(self, output, errors):
        events = [json.loads(line) for line in output.splitlines()]
        items = [event["item"] for event in events if event["type"] == "item.completed"]
        faults = [item["message"] for item in items if item["type"] == "error"]
        # It warns about unknown models and continues with defaults.
        faults = [fault for fault in faults if not fault.startswith("Model metadata for")]
        faults += [event["error"]["message"] for event in events if event["type"] == "turn.failed"]
        if faults:
            raise AgentError("; ".join(faults))
        connected = "successfully connected to Responses WebSocket" in errors
        if connected != self.websocket or "failed to connect" in errors:
            raise AgentError("it did not come by the WebSocket" if self.websocket else "it came by a WebSocket")
        if events[-1]["type"] != "turn.completed":
            raise AgentError(f"the last event is {events[-1]}")
        return "\n".join(item["text"] for item in items if item["type"] == "agent_message")


class OpenCode:
    """opencode with one provider package per format; all four packages are bundled."""

    command = "opencode"

    def __init__(self, wire, package, path="/v1"):
        self.name = f"opencode-{wire}"
        self.package = package
        self.path = path

    def prepare(self, workspace):
        (workspace.home / "opencode.json").write_text(json.dumps(self.configuration(workspace), indent=1))
        environment = {f"XDG_{kind.upper()}_HOME": str(workspace.home / kind) for kind in ("config", "data", "cache", "state")}
        environment["OPENCODE_CONFIG"] = str(workspace.home / "opencode.json")
        return ["run", "--pure", "--auto", "--format", "json"], environment | QUIET_OPENCODE

    def configuration(self, workspace):
        model = {"name": workspace.model, "limit": {"context": 200_000, "output": 32_000}}
        options = {"baseURL": workspace.address + self.path, "apiKey": workspace.key}
        provider = {"npm": self.package, "name": "Gatehouse", "options": options, "models": {workspace.model: model}}
        return {
            "autoupdate": False,
            "share": "disabled",
            "snapshot": False,
            "model": f"gatehouse/{workspace.model}",
            "small_model": f"gatehouse/{workspace.model}",
            "enabled_providers": ["gatehouse"],
            "permission": {"*": "allow"},
            "provider": {"gatehouse": provider},
        }

    def answer(self, output, errors):
        events = [json.loads(line) for line in output.splitlines()]
        faults = [event.get("error") for event in events if event["type"] == "error"]
        if faults:
            raise AgentError(json.dumps(faults))
        if not events or events[-1]["type"] != "step_finish" or events[-1]["part"]["reason"] != "stop":
            raise AgentError(f"the last event is {events[-1:]}")
        return "\n".join(event["part"]["text"] for event in events if event["type"] == "text")


class GeminiCli:
    name = "gemini-cli"
    command = "gemini"

    def prepare(self, workspace):
        settings = {
            "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
            "privacy": {"usageStatisticsEnabled": False},
            "security": {"auth": {"selectedType": "gemini-api-key"}},
            "telemetry": {"enabled": False},
        }
        (workspace.home / ".gemini").mkdir(exist_ok=True)
        (workspace.home / ".gemini" / "settings.json").write_text(json.dumps(settings))
        environment = {
            "GEMINI_API_KEY": workspace.key,
            "GOOGLE_GEMINI_BASE_URL": workspace.address,
            "GEMINI_CLI_TRUST_WORKSPACE": "true",
        }
        return ["-m", workspace.model, "--yolo", "--skip-trust", "-o", "json", "-p"], environment

    def answer(self, output, errors):
        result = json.loads(output[output.index("{") :])
        if "error" in result:
            raise AgentError(json.dumps(result["error"]))
        return result["response"]


class QwenCode:
    name = "qwen-code"
    command = "qwen"

    def prepare(self, workspace):
        settings = {
            "general": {"enableAutoUpdate": False},
            "privacy": {"usageStatisticsEnabled": False},
            "security": {"auth": {"selectedType": "openai"}},
            "telemetry": {"enabled": False},
        }
        (workspace.home / ".qwen").mkdir(exist_ok=True)
        (workspace.home / ".qwen" / "settings.json").write_text(json.dumps(settings))
        environment = {
            "OPENAI_API_KEY": workspace.key,
            "OPENAI_BASE_URL": f"{workspace.address}/v1",
            "OPENAI_MODEL": workspace.model,
            "QWEN_CODE_TRUST_WORKSPACE": "true",
        }
        return ["--yolo", "-o", "json"], environment

    def answer(self, output, errors):
        messages = json.loads(output[output.index("[") :])
        result = next(message for message in reversed(messages) if message["type"] == "result")
        if result["is_error"]:
            raise AgentError(json.dumps(result))
        return result["result"]


AGENTS = [
    ClaudeCode(),
    Codex(websocket=False),
    Codex(websocket=True),
    OpenCode("chat", "@ai-sdk/openai-compatible"),
    OpenCode("responses", "@ai-sdk/openai"),
    OpenCode("messages", "@ai-sdk/anthropic"),
    OpenCode("gemini", "@ai-sdk/google", path="/v1beta"),
    GeminiCli(),
    QwenCode(),
]


def environment_of(workspace, extra, commands):
    """A clean environment without proxies, credentials and settings of the user. The commands include a Node version
    that is recent enough for all of them."""
    scratch = workspace.home / "tmp"
    scratch.mkdir(exist_ok=True)
    path = f"{commands}{os.pathsep}{os.environ.get('PATH', '')}"
    place = {"PATH": path, "HOME": str(workspace.home), "TMPDIR": str(scratch), "LANG": "C.UTF-8"}
    return place | extra
