"""Configures every agent with `gatehouse connect` in a home of its own, lets it answer, and resets its files."""

import os
import pathlib
import subprocess

import rig
from agents.programs import QUIET_CLAUDE, QUIET_OPENCODE, environment_of
from agents.run import Run, finish
from agents.tasks import TASKS
from agents.vendors import audit

# By agent: the id of the tool, a file that exists before, and arguments and variables that are not about the gateway.
TOOLS = {
    "claude-code": (
        "claude-code",
        ".claude/settings.json",
        '{\n  "permissions": {"allow": []}\n}\n',
        ["-p", "--output-format", "json", "--dangerously-skip-permissions"],
        QUIET_CLAUDE | {"IS_SANDBOX": "1"},
    ),
    "codex-sse": (
        "codex",
        ".codex/config.toml",
        '# mine\nsandbox_mode = "danger-full-access" # chosen\ncheck_for_update_on_startup = false\n',
        ["exec", "--skip-git-repo-check", "--json"],
        {"RUST_LOG": "error,codex_api=info"},
    ),
    "opencode-chat": (
        "opencode",
        ".config/opencode/opencode.json",
        '{\n  // mine\n  "autoupdate": false, "share": "disabled", "snapshot": false\n}\n',
        ["run", "--pure", "--auto", "--format", "json"],
        QUIET_OPENCODE,
    ),
    "gemini-cli": (
        "gemini-cli",
        ".gemini/settings.json",
        '{\n  "general": {"enableAutoUpdate": false}, // mine\n  "privacy": {"usageStatisticsEnabled": false}\n}\n',
        ["--yolo", "--skip-trust", "-o", "json", "-p"],
        {"GEMINI_CLI_TRUST_WORKSPACE": "true"},
    ),
    "qwen-code": (
        "qwen",
        ".qwen/settings.json",
        '{\n  "general": {"enableAutoUpdate": false},\n  "privacy": {"usageStatisticsEnabled": false}\n}\n',
        ["--yolo", "-o", "json"],
        {"QWEN_CODE_TRUST_WORKSPACE": "true"},
    ),
}


def run(agent, vendor, app):
    run = Run(agent.name, vendor.name, "connect")
    workspace = app.workspace(f"{agent.name}-connect", vendor.model)
    run.judge(lambda: list(faults(agent, vendor, workspace, app, run)))
    if not run.faults:
        rig.remove(workspace.home)
    return run


def faults(agent, vendor, workspace, app, run):
    tool, name, content, arguments, quiet = TOOLS[agent.name]
    file = workspace.home / name
    file.parent.mkdir(parents=True)
    file.write_text(content)
    file.chmod(0o640)
    folder = workspace.home / pathlib.Path(name).parts[0]
    before = files(folder)
    yield from connect(workspace, tool, "--url", workspace.address, "--key-file", key_file(workspace), "--model", workspace.model)
    if file.stat().st_mode & 0o777 != 0o600:
        yield f"{name} has the mode {file.stat().st_mode:o}"
    app.upstream.http.post("/reset")
    yield from answer(agent, workspace, app, arguments, quiet, run)
    lines = app.upstream.bill()
    run.calls = len(lines)
    yield from audit(vendor, lines, app.gateway)
    yield from connect(workspace, tool, "--reset")
    # The agents write files of their own beside the configuration.
    after = {path: found for path, found in files(folder).items() if path in before or is_ours(path)}
    if after != before:
        yield f"after the reset the files are {after}, not {before}"


def answer(agent, workspace, app, arguments, quiet, run):
    task = TASKS[0]
    process = subprocess.Popen(
        [app.commands / agent.command, *arguments, task.prompt],
        cwd=workspace.project,
        env=environment_of(workspace, quiet, app.commands),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    output, errors = finish(process, run)
    if process.returncode:
        yield f"it ended with {process.returncode}"
        return
    yield from task.faults(agent.answer(output, errors), workspace.project)


def connect(workspace, *arguments):
    """Runs the command, and yields its message if it fails or shows the key."""
    environment = {"HOME": str(workspace.home), "PATH": os.environ.get("PATH", "")}
    command = [rig.binary("gatehouse"), "connect", *arguments]
    done = subprocess.run(command, env=environment, cwd=workspace.project, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode:
        yield f"{' '.join(map(str, command[1:]))}: {done.stderr}"
    if workspace.key in done.stdout + done.stderr:
        yield f"the key is in the output: {done.stdout}{done.stderr}"


def key_file(workspace):
    path = workspace.home / "key.txt"
    path.write_text(workspace.key)
    return str(path)


def files(folder):
    """Path, content and mode of every file below a directory."""
    paths = [path for path in folder.rglob("*") if path.is_file()]
    return {str(path.relative_to(folder)): (path.read_bytes(), path.stat().st_mode & 0o777) for path in paths}


def is_ours(path):
    return ".gatehouse-" in path or path.endswith(".env")
