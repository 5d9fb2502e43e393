"""The names of the gateway's settings and of its providers' variables."""

import re

import rig

SETTING = re.compile(r"^\| `[\w.]+` \| `([A-Z][A-Z0-9_]*)` \|", re.M)
PROVIDER = re.compile(r"[A-Z0-9_]+_(API_KEY|BASE_URL|MODELS)")
# Variables that are no settings: docs/settings.md names them in its text.
OTHERS = {"GATEWAY_CONFIG"}


def unknown(names):
    """The variables that the gateway would ignore."""
    known = set(SETTING.findall((rig.ROOT / "docs" / "settings.md").read_text(encoding="utf-8"))) | OTHERS
    assert len(known) > 30, "the tables of docs/settings.md have another form: adapt suites/deploy/settings.py"
    plain = {name.removesuffix("_FILE") for name in names}
    return sorted(f"not in docs/settings.md: {name}" for name in plain if name not in known and not PROVIDER.fullmatch(name))
