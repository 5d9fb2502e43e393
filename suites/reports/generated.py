"""Databases of generated calls, from the generator `crates/store/examples/fill.rs`."""

import pathlib
import subprocess

import rig

# The generator opens the database with this key.
ENCRYPTION_KEY = "00" * 32
# One in this many calls is also in the audit log, the newest ones.
AUDITED = 10


def path_of(directory):
    return directory / "data" / "gatehouse.db"


def fill(directory, database, rows, days, audited):
    """Fills an empty database with calls that are spread evenly over that many days; the newest ones are audited too."""
    generator = pathlib.Path(rig.binary("gatehouse")).parent / "examples" / "fill"
    if not generator.exists():
        raise SystemExit("fill is not built: cargo build -p store --features generate --example fill")
    path = path_of(directory)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    target = database.settings.get("POSTGRES_URL", f"sqlite:{path}")
    arguments = ["--rows", rows, "--days", days, "--audited", audited, "--database", target]
    subprocess.run([generator, *map(str, arguments)], check=True)
