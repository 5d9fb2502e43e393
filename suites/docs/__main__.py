"""Runs every shell block of README.md and docs/ against the scripted upstream, page by page."""

import pathlib
import shutil
import sys
import tempfile
import time

import httpx

import rig
import backends
from docs import blocks, environment, metrics
from docs.session import Failure, Session
from harness import Suite

# Used by most pages, or by the suite itself.
PROGRAMS = ("bash", "curl", "openssl", "pgrep")


class BlockReport:
    """Prints and counts the result of each block."""

    def __init__(self, suite):
        self.suite = suite

    def ok(self, line, title):
        self.suite.count([])
        print(f"  ok       {line:>4}  {title}", flush=True)

    def skip(self, line, title, reason):
        self.suite.skipped += 1
        print(f"  not run  {line:>4}  {title}: {reason}", flush=True)

    def fail(self, line, title, reason):
        self.suite.count([reason])
        print(f"  FAIL     {line:>4}  {title}\n{indent(reason)}", flush=True)


def main():
    suite = Suite("docs", __doc__, only="pages whose path contains this text")
    suite.parse()
    pages = [rig.ROOT / "README.md", *sorted((rig.ROOT / "docs").glob("*.md"))]
    pages = [page for page in pages if suite.selects(str(page.relative_to(rig.ROOT)))]
    if missing := [program for program in PROGRAMS if not shutil.which(program)]:
        raise SystemExit(f"docs: {', '.join(missing)} is missing")
    begun = time.monotonic()
    suite.run("", lambda app: run(app, pages, BlockReport(suite)))
    print(f"{suite.skipped} blocks not run; {time.monotonic() - begun:.0f} s")
    return suite.finish()


def run(app, pages, report):
    upstream = app.upstream()
    for page in pages:
        run_page(page, upstream, report)
    check_metrics(pages, app, upstream, report)


def run_page(page, upstream, report):
    found = blocks.blocks(page.read_text(encoding="utf-8"))
    if not found:
        return
    print(page.relative_to(rig.ROOT), flush=True)
    # Not in the directory of the suite: PostgreSQL runs as another user, who could not reach it.
    directory = pathlib.Path(tempfile.mkdtemp(prefix=f"docs-{page.stem}-"))
    database = backends.start("postgres", directory) if page.name in environment.WITH_POSTGRES else None
    substitutions = environment.Substitutions(database and database.url)
    session = Session(directory, environment.settings_of(page, upstream), substitutions.gateway_port)
    try:
        if blocks.assumes_gateway(found) and page.name not in environment.WITHOUT_GATEWAY:
            session.start_gateway()
        run_blocks(found, session, substitutions, upstream, report)
    finally:
        session.stop()
        if database:
            database.stop()
        rig.remove(directory)


def run_blocks(found, session, substitutions, upstream, report):
    """Runs the blocks in order. After a failure, the rest of the page is not reached."""
    is_broken = False
    for block in found:
        if block.language in blocks.OTHER_SHELLS:
            report.fail(block.line, block.title, f"label it sh, not {block.language}")
        elif block.instruction == "unknown":
            report.fail(block.line, block.title, f"unknown comment above it: {block.argument}")
        elif block.instruction == "not_run":
            report.skip(block.line, block.title, block.argument)
        elif block.instruction == "needs" and not shutil.which(block.argument, path=session.path):
            report.skip(block.line, block.title, f"{block.argument} is not installed")
        elif is_broken:
            report.fail(block.line, block.title, "not reached")
        else:
            try:
                run_block(block, session, substitutions.apply(block.text))
                if block.is_shell:
                    report.ok(block.line, block.title)
            except Failure as failure:
                is_broken = True
                report.fail(block.line, block.title, f"{failure}\n{state_of(upstream)}")


def run_block(block, session, text):
    if block.instruction == "file":
        (session.page / block.argument).write_text(text)
    elif block.instruction == "starts":
        session.start_gateway(text)
    elif block.instruction == "fails":
        status, output = session.run(text, may_fail=True)
        if status == 0 or block.argument not in output:
            raise Failure(f"exit status {status}, expected a failure with '{block.argument}':\n{output}")
    elif block.instruction == "stopped":
        status, output = session.run(f"timeout {block.argument} bash -c {quoted(text)}", may_fail=True)
        if status != 124:
            raise Failure(f"exit status {status}, expected it to run until it is stopped:\n{output}")
    else:
        status, output = session.run(text, input_line=block.argument if block.instruction == "input" else None)
        if status:
            raise Failure(f"exit status {status}:\n{output}{session.gateway_log()}")


def state_of(upstream):
    """What the upstream answers itself, to tell its faults from the gateway's."""
    body = {"model": "text", "messages": [{"role": "user", "content": "Hello"}]}
    try:
        answer = upstream.http.post("/v1/chat/completions", json=body, timeout=3)
    except httpx.HTTPError as error:
        return f"the scripted upstream does not answer: {error!r}"
    return f"the scripted upstream answers {answer.status_code}"


def quoted(text):
    return "'" + text.replace("'", "'\\''") + "'"


def check_metrics(pages, app, upstream, report):
    pages = [page for page in pages if metrics.families(page.read_text(encoding="utf-8"))]
    if not pages:
        return
    print("metrics that the pages name", flush=True)
    directory = app.directory / "metrics"
    directory.mkdir()
    for page, problems in metrics.problems(pages, directory, upstream).items():
        if problems:
            report.fail("", page.name, "\n".join(problems))
        else:
            report.ok("", page.name)


def indent(text):
    lines = text.strip().splitlines()
    return "\n".join(f"           {line}" for line in lines[-40:])


if __name__ == "__main__":
    sys.exit(main())
