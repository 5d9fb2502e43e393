"""Backup and restore of a running gateway: every acknowledged call once, keys only on request."""

import stat
import subprocess
import tarfile
import threading

import pytest

import rig
from sdk.conftest import sdk, user


def command(gateway, *arguments):
    return subprocess.run(
        [rig.binary("gatehouse"), *map(str, arguments)],
        env=gateway.settings, cwd=gateway.directory, capture_output=True, text=True, timeout=60,
    )


def sibling(gateway, upstream, name):
    return rig.Gateway(gateway.directory.parent / name, upstream)


def settled_rows(gateway, wanted):
    """The rows, once those of the wanted requests are there and rows and sums agree."""
    total = gateway.admin("GET", "/usage/summary").json()["total_requests"]
    rows = gateway.usage_rows()
    return rows if len(rows) == total and wanted <= {row["request_id"] for row in rows} else None


def test_a_backup_under_load_restores_every_acknowledged_call_once(start_gateway, upstream):
    gateway = start_gateway(upstream)
    acknowledged, over = [], threading.Event()

    def load(worker):
        with sdk(gateway) as client:
            number = 0
            while not over.is_set():
                request_id = f"call-{worker}-{number}"
                client.chat.completions.create(
                    model="openai/text", messages=user(), extra_headers={"X-Request-Id": request_id}
                )
                acknowledged.append(request_id)
                number += 1

    workers = [threading.Thread(target=load, args=(worker,)) for worker in range(6)]
    for worker in workers:
        worker.start()
    backups = []
    try:
        for number in range(3):
            wanted = len(acknowledged) + 60
            rig.eventually(lambda: len(acknowledged) >= wanted, timeout=60, what="load")
            before = list(acknowledged)
            file = gateway.directory / f"backup-{number}.tar"
            done = command(gateway, "backup", file)
            assert done.returncode == 0, done.stderr
            assert stat.S_IMODE(file.stat().st_mode) == 0o600
            backups.append((file, before))
    finally:
        over.set()
        for worker in workers:
            worker.join()
    for number, (file, before) in enumerate(backups):
        restored = sibling(gateway, upstream, f"restored-{number}")
        done = command(restored, "restore", file)
        assert done.returncode == 0, done.stderr
        restored.start()
        try:
            rows = rig.eventually(
                lambda: settled_rows(restored, set(before)), what="every acknowledged call, and sums that agree"
            )
            ids = [row["request_id"] for row in rows]
            assert len(ids) == len(set(ids)), "a row is doubled"
            assert set(ids) <= set(acknowledged)
        finally:
            restored.stop()


def test_provider_keys_open_after_a_restore_with_keys(start_gateway, upstream):
    gateway = start_gateway(upstream, ALLOW_PRIVATE_UPSTREAMS="true")
    body = {"name": "stored", "type": "openai", "base_url": upstream.url, "api_key": "sk-stored-0123456789"}
    assert gateway.admin("POST", "/providers", json=body).status_code == 201
    assert command(gateway, "backup", "with.tar").returncode == 0
    assert command(gateway, "backup", "without.tar", "--without-keys").returncode == 0
    for name, keys in [("with.tar", ["encryption.key"]), ("without.tar", [])]:
        with tarfile.open(gateway.directory / name) as archive:
            names = archive.getnames()
        assert [name for name in names if name.endswith(".key")] == keys and "gatehouse.db" in names
    restored = sibling(gateway, upstream, "restored")
    done = command(restored, "restore", gateway.directory / "with.tar")
    assert done.returncode == 0, done.stderr
    restored.start()
    try:
        stored = restored.admin("GET", "/providers/stored").json()
        assert stored["api_key_set"] and stored["api_key_last4"] == "6789"
        refused = command(restored, "restore", gateway.directory / "with.tar", "--force")
        assert refused.returncode == 1 and "stop it first" in refused.stderr
    finally:
        restored.stop()
    refused = command(restored, "restore", gateway.directory / "with.tar")
    assert refused.returncode == 1 and "--force" in refused.stderr
    refused = command(gateway, "backup", "with.tar")
    assert refused.returncode == 1 and "exists already" in refused.stderr


@pytest.mark.parametrize("arguments", [["backup", "x.tar"], ["restore", "x.tar"]])
def test_postgres_is_left_to_its_own_tools(tmp_path, arguments):
    gateway = rig.Gateway(tmp_path, STORAGE_TYPE="postgres", POSTGRES_URL="postgres://user:hush@127.0.0.1:1/db")
    done = command(gateway, *arguments)
    assert done.returncode == 1 and "pg_dump" in done.stderr and "hush" not in done.stderr
