"""The systemd unit: verified and rated by systemd-analyze."""

import re

import rig
from deploy.programs import DEPLOY, find, output, replace

FILE = DEPLOY / "systemd" / "gatehouse.service"
# systemd's scale ends at 10; a service without any protection has 9.6.
HIGHEST_EXPOSURE = 2.0


def run(app):
    if not find(app, "systemd-analyze"):
        return
    copy = app.directory / "gatehouse.service"
    copy.write_text(replace(FILE.read_text(), {"/usr/local/bin/gatehouse": rig.binary("gatehouse")}))
    status, text = output("systemd-analyze", "verify", "--man=no", copy)
    # Other units of the machine can have faults of their own.
    faults = [line for line in text.splitlines() if "gatehouse.service" in line]
    app.check("verified", *faults, status and not faults and f"exit status {status}: {text}")
    copy.write_text(copy.read_text().replace("DynamicUser=", "DynamicUsr="))
    _, text = output("systemd-analyze", "verify", "--man=no", copy)
    app.check("a misspelt setting would be found", "DynamicUsr" not in text and "it is accepted")
    status, text = output("systemd-analyze", "security", "--offline=true", "--no-pager", FILE)
    exposure = re.search(r"Overall exposure level for \S+: ([\d.]+)", text)
    if not exposure:
        app.suite.skip("unit: exposure", f"systemd is too old to rate a file: {text.strip()[:200]}")
        return
    app.check_at_most("exposure", float(exposure[1]), HIGHEST_EXPOSURE)
