"""Providers through the admin API: created, tested, used, removed; secrets are write-only."""

import openai
import pytest

import rig
from sdk.conftest import envelope, sdk, user

SECRET = "sk-added-secret-never-to-be-seen-9876"


@pytest.fixture
def added(gateway, upstream):
    body = {"name": "added", "type": "openai", "api_key": SECRET, "base_url": upstream.url, "models": "text,long"}
    answer = gateway.admin("POST", "/providers", json=body)
    assert answer.status_code == 201, answer.text
    yield answer
    gateway.admin("DELETE", "/providers/added")


def test_an_added_provider_serves_at_once(gateway, upstream, added, client, request_id):
    record = added.json()
    assert (record["name"], record["type"], record["source"]) == ("added", "openai", "admin")
    assert record["api_key_set"] is True and record["api_key_last4"] == "9876"
    answer = client.chat.completions.create(model="added/text", messages=user(request_id))
    assert answer.provider == "added"
    sent = next(request for request in upstream.requests() if request_id in request["body"])
    assert dict(sent["headers"])["authorization"] == f"Bearer {SECRET}"


def test_a_provider_can_be_tested(gateway, added):
    answer = gateway.admin("POST", "/providers/added/test")
    assert answer.status_code == 200, answer.text
    assert SECRET not in answer.text


def test_a_removed_provider_is_gone_at_once(gateway, added, client):
    client.chat.completions.create(model="added/text", messages=user())
    assert gateway.admin("DELETE", "/providers/added").status_code in (200, 204)
    with pytest.raises(openai.NotFoundError):
        client.chat.completions.create(model="added/text", messages=user())
    envelope(gateway.admin("GET", "/providers/added"), 404, "not_found_error", "provider_not_found")


def test_faulty_providers_are_refused(gateway, added, upstream):
    good = {"name": "other", "type": "openai", "base_url": upstream.url, "api_key": "", "models": ""}
    answer = gateway.admin("POST", "/providers", json=good | {"name": "added"})
    envelope(answer, 409, "invalid_request_error", "conflict")
    for param, value in {"type": "openia", "name": "a/b", "base_url": "ftp://x"}.items():
        answer = gateway.admin("POST", "/providers", json=good | {param: value})
        assert envelope(answer, 400, "invalid_request_error", "invalid_parameter")["param"] == param
    answer = gateway.admin("POST", "/providers", json=good | {"apikey": "x"})
    assert envelope(answer, 400, "invalid_request_error", "unknown_parameter")["param"] == "apikey"


def test_providers_of_the_environment_are_shown_and_stay(gateway, client):
    listed = {record["name"]: record for record in rig.entries(gateway.admin("GET", "/providers").json())}
    assert listed["openai"]["source"] == "env"
    assert {"openai", "openai-backup", "openai-dead"} <= set(listed)
    assert 400 <= gateway.admin("DELETE", "/providers/openai").status_code < 500
    client.chat.completions.create(model="openai/text", messages=user())


def test_an_added_provider_survives_a_restart(start_gateway, upstream):
    gateway = start_gateway(upstream)
    body = {"name": "kept", "type": "openai", "api_key": SECRET, "base_url": upstream.url, "models": "text"}
    assert gateway.admin("POST", "/providers", json=body).status_code == 201
    gateway.stop()
    gateway.start(models=["kept/text"])
    assert sdk(gateway).chat.completions.create(model="kept/text", messages=user()).provider == "kept"


def test_no_answer_and_no_log_holds_a_secret(gateway, added, client):
    answers = [
        gateway.admin("GET", path).text
        for path in ("/providers", "/providers/added", "/providers/openai", "/auth-keys", "/changes", "/usage/log")
    ]
    for model in ("openai/unauthorized", "openai-dead/text", "openai/error-500", "openai/html"):
        with pytest.raises(openai.APIStatusError) as caught:
            client.chat.completions.create(model=model, messages=user())
        answers.append(caught.value.response.text)
    answers.append(gateway.log())
    stored = b"".join(path.read_bytes() for path in (gateway.directory / "data").rglob("*") if path.is_file())
    for secret in (SECRET, rig.PROVIDER_KEY, rig.BACKUP_KEY, rig.MASTER_KEY):
        assert not [text for text in answers if secret in text], secret
        assert secret.encode() not in stored, f"{secret} lies in the data directory"
