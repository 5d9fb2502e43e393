"""Failures: the SDK's typed exceptions, the error envelope, and interrupted streams."""

import openai
import pytest

import rig
from sdk.conftest import envelope, raw_stream, sdk, user


def failure(client, model="openai/text", expected=openai.APIStatusError, **options):
    options = {"messages": user()} | options
    with pytest.raises(expected) as caught:
        client.chat.completions.create(model=model, **options)
    return caught.value


def test_a_wrong_key_is_401(gateway):
    fault = failure(sdk(gateway, key="gk_wrong"), expected=openai.AuthenticationError)
    assert (fault.type, fault.code) == ("authentication_error", "invalid_api_key")
    assert fault.response.headers["www-authenticate"].startswith("Bearer")


def test_no_key_is_401(gateway):
    answer = gateway.http.post("/v1/chat/completions", json={"model": "openai/text", "messages": user()})
    envelope(answer, 401, "authentication_error", "missing_api_key")


def test_an_unknown_model_is_404_and_offers_the_nearest(client):
    fault = failure(client, model="openai/txet", expected=openai.NotFoundError)
    assert (fault.type, fault.code, fault.param) == ("not_found_error", "model_not_found", "model")
    assert "openai/text" in fault.message


@pytest.mark.parametrize("temperature", [-0.1, 2.1])
def test_a_temperature_out_of_range_is_400(client, temperature):
    fault = failure(client, temperature=temperature, expected=openai.BadRequestError)
    assert (fault.type, fault.code, fault.param) == ("invalid_request_error", "invalid_parameter", "temperature")


def test_an_upstream_s_refusal_keeps_its_words(client):
    fault = failure(client, model="openai/strict", extra_body={"surprise": 1}, expected=openai.BadRequestError)
    assert fault.param == "surprise"
    assert "Unrecognized request argument" in fault.message
    assert fault.code == "upstream_error"


def test_a_missing_model_is_400(http):
    answer = http.post("/v1/chat/completions", json={"messages": user()})
    assert envelope(answer, 400, "invalid_request_error", "model_required")["param"] == "model"


@pytest.mark.parametrize("stream", [False, True])
def test_a_rate_limit_keeps_its_waiting_time(client, stream):
    fault = failure(client, model="openai/error-429", stream=stream, expected=openai.RateLimitError)
    assert fault.type == "rate_limit_error"
    assert 1 <= int(fault.response.headers["retry-after"]) <= 30


@pytest.mark.parametrize("stream", [False, True])
def test_an_upstream_s_500_is_an_internal_server_error(client, stream):
    fault = failure(client, model="openai/error-500", stream=stream, expected=openai.InternalServerError)
    assert (fault.status_code, fault.type) == (500, "provider_error")


def test_a_refused_provider_credential_is_not_the_caller_s(client):
    fault = failure(client, model="openai/unauthorized", expected=openai.InternalServerError)
    assert (fault.status_code, fault.type, fault.code) == (502, "provider_error", "upstream_auth_failed")
    assert rig.PROVIDER_KEY not in fault.response.text


@pytest.mark.parametrize("stream", [False, True])
def test_an_unreachable_provider_is_502(client, stream):
    fault = failure(client, model="openai-dead/text", stream=stream, expected=openai.InternalServerError)
    assert (fault.status_code, fault.type, fault.code) == (502, "provider_error", "upstream_unreachable")


UNREADABLE = ["html", "bad-json", "empty-body", "reset-before-head", "eof-mid-stream", "cut-mid-stream"]


@pytest.mark.parametrize("model", UNREADABLE)
def test_an_unreadable_answer_is_502(client, model):
    fault = failure(client, model=f"openai/{model}", expected=openai.InternalServerError)
    assert (fault.status_code, fault.type) == (502, "provider_error")
    assert "<html>" not in fault.response.text


@pytest.mark.parametrize("model", ["html", "empty-body", "reset-before-head", "error-in-stream"])
def test_a_stream_that_fails_before_content_has_a_status(client, model):
    fault = failure(client, model=f"openai/{model}", stream=True, expected=openai.InternalServerError)
    assert fault.status_code >= 500 and fault.type == "provider_error"


DEATHS = ["reset-mid-stream", "cut-mid-stream", "eof-mid-stream", "error-after-content"]


@pytest.mark.parametrize("model", DEATHS)
def test_a_stream_that_dies_raises(client, model):
    stream = client.chat.completions.create(model=f"openai/{model}", messages=user(), stream=True)
    text = ""
    with pytest.raises(openai.APIError) as caught:
        for chunk in stream:
            text += chunk.choices[0].delta.content or ""
    assert text.startswith("Hello"), "what had arrived is delivered"
    assert caught.value.body["type"] and caught.value.body["message"]


@pytest.mark.parametrize("model", DEATHS)
def test_a_stream_that_dies_does_not_look_finished(http, model):
    _, text = raw_stream(http, f"openai/{model}")
    assert "[DONE]" not in text
    assert '"finish_reason":"stop"' not in text
    assert text.count('{"error":') == 1
    assert text.rstrip().splitlines()[-1].startswith('data: {"error":')


def test_silence_ends_at_the_deadline(start_gateway, upstream):
    gateway = start_gateway(upstream, TTFT_TIMEOUT="1s")
    with sdk(gateway) as client:
        for model in ("openai/hang", "openai/hang-after-head"):
            fault = failure(client, model=model, stream=True, expected=openai.InternalServerError)
            assert (fault.status_code, fault.code) == (504, "upstream_timeout")


def test_a_huge_event_passes(client):
    stream = client.chat.completions.create(model="openai/huge-event-1024", messages=user(), stream=True)
    assert sum(len(chunk.choices[0].delta.content or "") for chunk in stream) == 1024 * 1024
