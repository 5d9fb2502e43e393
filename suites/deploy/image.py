"""The last stage of the Dockerfile, built with buildah on a base of Debian's packages, and started."""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess

import httpx

import rig
from deploy import settings
from deploy.programs import DEPLOY, PATH, find, output

FILE = DEPLOY / "docker" / "Dockerfile"
# What the image's own base has.
PACKAGES = "libc6,libgcc-s1,ca-certificates,tzdata"
# The packages are unpacked only, so the bundle of certificates is not made by their scripts.
CERTIFICATES = 'cat "$1"/usr/share/ca-certificates/mozilla/*.crt >"$1"/etc/ssl/certs/ca-certificates.crt'
USER = 65532
LARGEST_BINARY = 30e6
LARGEST_IMAGE = 30 * 2**20
FROM_STAGE = re.compile(r"^COPY --from=build (?:--chown=\S+ )?(\S+) ", re.M)
STAGES = re.compile(r"^FROM ", re.M)


def run(app):
    check_sources(app)
    if not find(app, "buildah", "mmdebstrap", "strip"):
        return
    base = make_base(app)
    if not base:
        return
    shipped = app.suite.options.shipped
    if not shipped:
        app.suite.skip("image: sizes", "they are those of the shipped binary; `make suite deploy` builds it")
    builder = Builder(app)
    builder.build(base, shipped or rig.binary("gatehouse"))
    if shipped:
        app.check_at_most("size of the binary", os.path.getsize(shipped) / 1e6, LARGEST_BINARY / 1e6, " MB")
        app.check_at_most("compressed size of the image", builder.compressed_size() / 2**20, LARGEST_IMAGE / 2**20, " MiB")
    check_container(app, builder)


def check_sources(app):
    """What the stages copy is in a checkout, and not ignored."""
    text = FILE.read_text()
    ignored = {line for line in (rig.ROOT / ".dockerignore").read_text().splitlines() if line and not line.startswith("#")}
    copied = re.findall(r"^COPY (?!--from)(.+) \S+$", text, re.M)
    missing = [path for line in copied for path in line.split() if not (rig.ROOT / path).exists()]
    app.check("stages copy files of the checkout", *missing, *sorted({path for line in copied for path in line.split()} & ignored))
    rust = re.search(r'rust-version = "([\d.]+)"', (rig.ROOT / "Cargo.toml").read_text())[1]
    app.check("builds with the Rust of Cargo.toml", f"FROM rust:{rust}-" not in text and f"Cargo.toml has {rust}")
    names = {name for line in re.findall(r"^ENV (.+)$", text, re.M) for name in re.findall(r"(\w+)=", line)}
    app.check("the gateway knows every setting", *settings.unknown(names))


def make_base(app):
    """A root file system as an archive, kept in .cache. None if Debian's packages cannot be had."""
    release = dict(line.split("=", 1) for line in pathlib.Path("/etc/os-release").read_text().splitlines() if "=" in line)
    codename = release.get("VERSION_CODENAME", "").strip('"')
    path = rig.ROOT / ".cache" / "deploy" / f"base-{codename}.tar"
    if path.exists():
        return path
    if release.get("ID", "").strip('"') != "debian":
        app.suite.skip(app.name, "the base is made of the packages of Debian, and this is another system")
        return None
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".new.tar")
    status, text = output(
        "mmdebstrap", "--quiet", "--variant=extract", f"--include={PACKAGES}", f"--extract-hook={CERTIFICATES}", codename, partial,
    )
    if status:
        app.suite.skip(app.name, f"mmdebstrap failed: {' '.join(text.split())[-300:]}")
        return None
    partial.rename(path)
    return path


class Builder:
    """buildah with a storage of its own, which needs neither a daemon nor a file system of its own kind."""

    def __init__(self, app):
        self.directory = app.directory / "buildah"
        self.directory.mkdir()
        self.policy = self.directory / "policy.json"
        self.policy.write_text(json.dumps({"default": [{"type": "insecureAcceptAnything"}]}))
        self.command = [
            "buildah", "--storage-driver", "vfs", "--root", str(self.directory / "root"), "--runroot", str(self.directory / "run"),
        ]

    def run(self, *arguments):
        status, text = output(*self.command, *arguments)
        assert status == 0, f"buildah {' '.join(map(str, arguments))}: {text[-1000:]}"
        return text.strip().splitlines()[-1] if text.strip() else ""

    def build(self, base, binary):
        """Builds the last stage alone; a directory stands in for the stage that compiles."""
        container = self.run("from", "scratch")
        self.run("add", "--quiet", container, base, "/")
        self.run("commit", "--quiet", "--signature-policy", self.policy, container, "base")
        self.run("rm", container)
        text = FILE.read_text()
        stage = self.directory / "stage"
        for path in FROM_STAGE.findall(text):
            target = stage / path.lstrip("/")
            if target.name == "gatehouse":
                target.parent.mkdir(parents=True, exist_ok=True)
                assert output("strip", "-o", target, binary)[0] == 0, "strip failed"
            else:
                target.mkdir(parents=True)
        last = "ARG BASE\n" + text[[match.start() for match in STAGES.finditer(text)][-1] :]
        (self.directory / "Dockerfile").write_text(last)
        self.run(
            "build", "--quiet", "--isolation", "chroot", "--signature-policy", self.policy, "--build-arg", "BASE=localhost/base",
            "--build-context", f"build={stage}", "--tag", "gatehouse", self.directory,
        )
        shutil.rmtree(stage)
        self.container = self.run("from", "--signature-policy", self.policy, "localhost/gatehouse")
        self.config = json.loads(output(*self.command, "inspect", self.container)[1])["OCIv1"]["config"]

    def compressed_size(self):
        """The bytes that a registry stores and a node fetches."""
        layout = self.directory / "layout"
        self.run("push", "--quiet", "--signature-policy", self.policy, "localhost/gatehouse", f"oci:{layout}")
        return sum(path.stat().st_size for path in (layout / "blobs").rglob("*") if path.is_file())

    def start(self, log, **environment):
        """The entry point as its user. The container has the network of this machine."""
        options = [part for name, value in environment.items() for part in ("--env", f"{name}={value}")]
        program = [*self.config["Entrypoint"], *self.config["Cmd"]]
        command = [*self.command, "run", "--isolation", "chroot", *options, self.container, "--", *program]
        return subprocess.Popen(command, env=os.environ | {"PATH": PATH}, stdout=log, stderr=log)


def check_container(app, builder):
    app.check("runs as a user without rights", builder.config["User"] != f"{USER}:{USER}" and builder.config["User"])
    port = rig.free_port()
    with open(app.directory / "container.log", "wb") as log:
        process = builder.start(log, PORT=port, GATEWAY_MASTER_KEY=rig.MASTER_KEY)
    http = httpx.Client(base_url=f"http://127.0.0.1:{port}", trust_env=False, timeout=10, headers=rig.bearer(rig.MASTER_KEY))
    try:
        rig.eventually(lambda: process.poll() is not None or answers(http), timeout=60, what="/health")
        log = (app.directory / "container.log").read_text(errors="replace")
        app.check("/health answers", process.poll() is not None and log[-500:])
        app.check("finds the base's certificates", "no host certificate" in log and "it uses the bundled ones")
        body = {"model": "demo-chat", "messages": [{"role": "user", "content": "Hello"}]}
        app.check("a call to the demo model", http.post("/v1/chat/completions", json=body).status_code != 200 and "it failed")
        usage = http.get("/admin/api/v1/usage/daily", params={"timezone": "Europe/Berlin"})
        app.check("finds the base's time zones", usage.status_code != 200 and usage.text[:300])
        gateway = descendant(process.pid, "gatehouse")
        app.check("its process has that user", os.stat(f"/proc/{gateway}").st_uid != USER and "another user")
        os.kill(gateway, signal.SIGTERM)
        app.check("ends on SIGTERM", process.wait(timeout=60) and f"exit status {process.returncode}")
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


def answers(http):
    try:
        return http.get("/health").status_code == 200
    except httpx.TransportError:
        return False


def descendant(ancestor, name):
    """The process of that program below another one."""
    parents = {}
    for entry in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            rest = (entry / "stat").read_text().rsplit(")", 1)
            parents[int(entry.name)] = (int(rest[1].split()[1]), rest[0].split("(", 1)[1])
        except OSError:
            continue
    below = lambda pid: pid == ancestor or (pid in parents and below(parents[pid][0]))  # noqa: E731
    return next(pid for pid, (_, program) in parents.items() if program == name and below(pid))
