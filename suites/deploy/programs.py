"""The programs that check the files of deploy/, and where those files are."""

import os
import shutil
import subprocess

import rig

DEPLOY = rig.ROOT / "deploy"
# Debian puts servers where only root looks.
PATH = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"


def find(app, *names):
    """Whether all programs are there; without one of them, the case is skipped."""
    missing = [name for name in names if not shutil.which(name, path=PATH)]
    if missing:
        app.suite.skip(app.name, f"{', '.join(missing)} is not installed: scripts/program.sh {missing[0]}")
    return not missing


def output(*command, **options):
    """The exit status of a command, and all that it prints."""
    options = {"timeout": 300, "env": os.environ | {"PATH": PATH}} | options
    done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    return done.returncode, done.stdout


def faults(*command, **options):
    """What a command says that fails; nothing of one that succeeds."""
    status, text = output(*command, **options)
    return [f"exit status {status}", *text.strip().splitlines()[-8:]] if status else []


def replace(text, changes):
    """Replaces each text by another one; it must be there."""
    for old, new in changes.items():
        assert old in text, f"'{old}' is not in the file any more: adapt suites/deploy"
        text = text.replace(old, str(new))
    return text
