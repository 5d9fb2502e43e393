"""The audit log after the kills: exactly one entry per acknowledged call, and an unbroken chain."""

import collections
import subprocess

import rig


def faults(gateway, calls):
    """Returns the faults; stops the gateway, because the chain is verified by the command line."""
    wanted = {call.request_id for call in calls if call.acknowledged}
    found = collections.Counter(entry["request_id"] for entry in entries(gateway))
    missing = [request_id for request_id in wanted if not found[request_id]]
    doubled = [request_id for request_id, count in found.items() if count > 1]
    print(f"kill9: {sum(found.values())} audit entries, {len(missing)} missing, {len(doubled)} doubled", flush=True)
    wrong = [f"no audit entry: {request_id}" for request_id in missing[:5]]
    wrong += [f"{found[request_id]} audit entries: {request_id}" for request_id in doubled[:5]]
    gateway.stop()
    return wrong + verify(gateway)


def entries(gateway):
    """Yields all entries, following the cursor of each page."""
    query = {"days": 2, "user_path": "/kill9", "limit": 100}
    while True:
        answer = gateway.admin("GET", "/audit/log", params=query)
        assert answer.status_code == 200, answer.text
        page = answer.json()
        yield from page["entries"]
        if not page.get("next"):
            return
        query["cursor"] = page["next"]


def verify(gateway):
    command = [rig.binary("gatehouse"), "audit", "verify"]
    answer = subprocess.run(command, env=gateway.settings, cwd=gateway.directory, capture_output=True, text=True)
    last = (answer.stdout + answer.stderr).strip().splitlines()[-1:]
    print(f"kill9: audit verify: {' '.join(last)}", flush=True)
    return [] if answer.returncode == 0 else [f"audit verify ended with {answer.returncode}: {last}"]
