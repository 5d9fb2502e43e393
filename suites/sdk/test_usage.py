"""Accounting: the gateway's usage equals the upstream's bill, token for token."""

import itertools

import openai
import pytest

import rig
from sdk.conftest import sdk, user

MODELS = ["text", "long", "tools", "parallel-tools", "reasoning", "cached", "usage-every-chunk", "azure-first"]


def call(client, model, request_id, stream):
    """Completes one call and returns the upstream's id for it."""
    answer = client.chat.completions.create(
        model=f"openai/{model}",
        messages=user(f"count these words for {model}"),
        stream=stream,
        extra_headers={"X-Request-Id": request_id},
    )
    return next(iter({chunk.id for chunk in answer})) if stream else answer.id


def same_tokens(row, line):
    booked = [row[name] for name in ("input_tokens", "cached_input_tokens", "output_tokens", "reasoning_tokens")]
    billed = [line[name] for name in ("prompt_tokens", "cached_tokens", "completion_tokens", "reasoning_tokens")]
    assert booked == billed, (row, line)
    assert row["total_tokens"] == line["prompt_tokens"] + line["completion_tokens"]
    assert row["estimated"] is False


def test_the_books_equal_the_bill(start_gateway, upstream, request_id):
    gateway = start_gateway(upstream)
    calls = {}
    with sdk(gateway) as client:
        for number, (model, stream) in enumerate(itertools.product(MODELS * 3, (False, True))):
            name = f"{request_id}-{number}"
            calls[name] = (call(client, model, name, stream), model, stream)
    rig.eventually(lambda: gateway.usage_log()["total"] >= len(calls), what="a drained journal")
    rows = gateway.usage_rows()
    assert sorted(row["request_id"] for row in rows) == sorted(calls)
    bill = {line["id"]: line for line in upstream.bill()}
    for row in rows:
        provider_id, model, stream = calls[row["request_id"]]
        assert row["provider_id"] == provider_id
        assert (row["model"], row["provider"], row["provider_name"]) == (model, "openai", "openai")
        assert (row["stream"], row["endpoint"], row["cache_type"]) == (stream, "/v1/chat/completions", "")
        assert row["requested_model"] == f"openai/{model}"
        same_tokens(row, bill[provider_id])
    lines = [bill[provider_id] for provider_id, _, _ in calls.values()]
    summary = gateway.admin("GET", "/usage/summary").json()
    assert summary["total_requests"] == len(calls)
    assert summary["total_input_tokens"] == sum(line["prompt_tokens"] for line in lines)
    assert summary["total_output_tokens"] == sum(line["completion_tokens"] for line in lines)
    assert summary["total_tokens"] == summary["total_input_tokens"] + summary["total_output_tokens"]
    assert summary["total_cached_input_tokens"] == sum(line["cached_tokens"] for line in lines)
    assert summary["total_reasoning_tokens"] == sum(line["reasoning_tokens"] for line in lines)


@pytest.mark.parametrize("stream", [False, True])
def test_an_untold_usage_is_estimated(client, gateway, request_id, stream):
    call(client, "no-usage", request_id, stream)
    row = gateway.usage_row(request_id)
    assert row["estimated"] is True
    assert row["input_tokens"] > 0 and row["output_tokens"] > 0


@pytest.mark.parametrize("stream", [False, True])
def test_a_nonsensical_usage_is_clamped_and_flagged(client, gateway, request_id, stream):
    call(client, "weird-usage", request_id, stream)
    row = gateway.usage_row(request_id)
    assert row["input_tokens"] >= 0 and 0 <= row["output_tokens"] < 2**53
    assert row["caveat"]


def test_a_client_that_leaves_cancels_the_upstream_and_is_booked(client, gateway, upstream, request_id):
    stream = client.chat.completions.create(
        model="openai/drip-50", messages=user(), stream=True, extra_headers={"X-Request-Id": request_id}
    )
    provider_id = [next(stream).id for _ in range(5)][0]
    stream.close()
    rig.eventually(lambda: upstream.line(provider_id)["cancelled"], timeout=3, pause=0.005, what="the cancellation")
    row = gateway.usage_row(request_id)
    line = upstream.line(provider_id)
    assert row["estimated"] is True
    assert 0 < row["output_tokens"] <= 4 * line["completion_tokens"], (row, line)
    assert row["provider_id"] == provider_id


def test_a_dead_stream_is_booked_as_estimated(client, gateway, request_id):
    with pytest.raises(openai.APIError):
        call(client, "reset-mid-stream", request_id, True)
    row = gateway.usage_row(request_id)
    assert row["estimated"] is True and row["output_tokens"] > 0


BAD_QUERIES = [("limit", 201), ("limit", 0), ("days", 0), ("days", 366), ("cache_mode", "some"), ("start_date", "2026-13-01")]


@pytest.mark.parametrize(("name", "value"), BAD_QUERIES)
def test_bad_queries_are_refused(gateway, name, value):
    answer = gateway.admin("GET", "/usage/log", params={name: value})
    assert answer.status_code == 400
    assert answer.json()["error"]["param"] == name
