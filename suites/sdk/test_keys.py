"""Managed keys: created through the admin API, restricted by their lists, path, expiry and scopes."""

import datetime
import time

import openai
import pytest

import rig
from sdk.conftest import envelope, sdk, user


@pytest.fixture
def make_key(gateway):
    def make(**fields):
        answer = gateway.admin("POST", "/auth-keys", json={"name": "a key of the suite"} | fields)
        assert answer.status_code == 201, answer.text
        return answer.json()

    return make


def denied(gateway, key, model, code):
    with pytest.raises(openai.PermissionDeniedError) as caught:
        sdk(gateway, key).chat.completions.create(model=model, messages=user())
    assert (caught.value.type, caught.value.code) == ("authorization_error", code)


def allowed(gateway, key, model, **options):
    return sdk(gateway, key).chat.completions.create(model=model, messages=user(), **options)


def rejected(gateway, key):
    with pytest.raises(openai.AuthenticationError) as caught:
        allowed(gateway, key, "openai/text")
    assert caught.value.code == "invalid_api_key"


def test_a_key_is_shown_once(gateway, make_key):
    made = make_key(description="shown once")
    assert made["key"].startswith("gk_") and made["value"] == made["key"]
    assert made["id"] and made["name"] and made["created_at"] and "expires_at" in made
    allowed(gateway, made["key"], "openai/text")
    listed = gateway.admin("GET", "/auth-keys")
    assert made["id"] in listed.text and made["key"] not in listed.text
    assert made["key"] not in gateway.admin("GET", f"/auth-keys/{made['id']}").text
    assert made["key"] not in gateway.log()


def test_both_credential_headers_work(gateway, make_key):
    key = make_key()["key"]
    body = {"model": "openai/text", "messages": user()}
    for headers in ({"x-api-key": key}, {"authorization": f"bearer {key}"}, {"x-api-key": rig.MASTER_KEY}):
        assert gateway.http.post("/v1/chat/completions", json=body, headers=headers).status_code == 200


def test_lists_limit_models_and_providers(gateway, make_key):
    key = make_key(allowed_models=["openai/te*", "openai/long"], denied_models=["openai/long"])["key"]
    allowed(gateway, key, "openai/text")
    denied(gateway, key, "openai/long", "key_model_access_denied")
    denied(gateway, key, "openai-backup/text", "key_model_access_denied")
    key = make_key(allowed_providers=["openai-backup"])["key"]
    allowed(gateway, key, "openai-backup/text")
    denied(gateway, key, "openai/text", "key_provider_access_denied")
    denied(gateway, make_key(allowed_models=[])["key"], "openai/text", "key_model_access_denied")


def test_the_model_list_shows_only_what_a_key_may_use(gateway, make_key):
    key = make_key(allowed_models=["openai/text", "openai/long"])["key"]
    assert {model.id for model in sdk(gateway, key).models.list()} == {"openai/text", "openai/long"}


def test_an_inference_key_is_no_admin(gateway, make_key):
    key = make_key()["key"]
    answer = gateway.admin("GET", "/usage/summary", key=key)
    assert envelope(answer, 403, "authorization_error", "insufficient_scope")["required_scope"]
    reader = make_key(scopes=["admin:read"])["key"]
    assert gateway.admin("GET", "/usage/summary", key=reader).status_code == 200
    envelope(
        gateway.admin("POST", "/auth-keys", key=reader, json={"name": "x"}),
        403,
        "authorization_error",
        "insufficient_scope",
    )
    denied(gateway, reader, "openai/text", "insufficient_scope")


def test_a_key_grants_no_more_than_it_has(gateway, make_key):
    writer = make_key(scopes=["admin:auth-keys:write"])["key"]
    answer = gateway.admin("POST", "/auth-keys", key=writer, json={"name": "x", "scopes": ["admin:write"]})
    assert answer.status_code == 403, answer.text


def test_usage_is_booked_on_the_key_s_path(gateway, make_key, request_id):
    made = make_key(user_path="/team")
    for path, suffix in ((None, "own"), ("/team/app", "narrowed")):
        headers = {"X-Request-Id": f"{request_id}-{suffix}"}
        if path:
            headers["X-Gateway-User-Path"] = path
        allowed(gateway, made["key"], "openai/text", extra_headers=headers)
    own = gateway.usage_row(f"{request_id}-own")
    assert (own["user_path"], own["auth_key_id"]) == ("/team", made["id"])
    assert gateway.usage_row(f"{request_id}-narrowed")["user_path"] == "/team/app"
    with pytest.raises(openai.PermissionDeniedError) as caught:
        allowed(gateway, made["key"], "openai/text", extra_headers={"X-Gateway-User-Path": "/other"})
    assert caught.value.code == "user_path_denied"


def test_an_expired_key_is_invalid(gateway, make_key):
    expiry = datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=2)
    made = make_key(expiry=expiry.isoformat().replace("+00:00", "Z"))
    assert made["expires_at"]
    allowed(gateway, made["key"], "openai/text")
    time.sleep(max(0.0, (expiry - datetime.datetime.now(datetime.UTC)).total_seconds()) + 0.2)
    rejected(gateway, made["key"])


def test_a_deactivated_key_is_invalid_at_once(gateway, make_key):
    made = make_key()
    allowed(gateway, made["key"], "openai/text")
    answer = gateway.admin("POST", f"/auth-keys/{made['id']}/deactivate")
    assert answer.status_code == 200, answer.text
    rejected(gateway, made["key"])


@pytest.mark.parametrize(
    ("fields", "code", "param"),
    [
        ({"name": ""}, "invalid_parameter", "name"),
        ({"name": "x", "scopes": ["root"]}, "invalid_parameter", "scopes"),
        ({"name": "x", "user_path": "/a/../b"}, "invalid_parameter", "user_path"),
        ({"name": "x", "expiry": "tomorrow"}, "invalid_parameter", "expiry"),
        ({"name": "x", "allowed_model": []}, "unknown_parameter", "allowed_model"),
    ],
)
def test_a_faulty_key_is_refused(gateway, fields, code, param):
    answer = gateway.admin("POST", "/auth-keys", json=fields)
    assert envelope(answer, 400, "invalid_request_error", code)["param"] == param


def test_keys_survive_a_restart(start_gateway, upstream):
    gateway = start_gateway(upstream)
    made = gateway.admin("POST", "/auth-keys", json={"name": "kept"}).json()
    gateway.stop()
    gateway.start(models=["openai/text"])
    allowed(gateway, made["key"], "openai/text")
