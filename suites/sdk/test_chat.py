"""Chat without streaming, through the SDK."""

import asyncio
import json

import openai

import rig
from sdk.conftest import user


def test_an_answer_arrives_with_usage_provider_and_latency(client, upstream):
    answer = client.chat.completions.create(model="openai/text", messages=user())
    assert answer.object == "chat.completion"
    assert answer.choices[0].message.role == "assistant"
    assert answer.choices[0].message.content == "Hello from the upstream. You said: one two three"
    assert answer.choices[0].finish_reason == "stop"
    line = upstream.line(answer.id)
    assert answer.usage.prompt_tokens == line["prompt_tokens"] == 11
    assert answer.usage.completion_tokens == line["completion_tokens"]
    assert answer.model == "text"
    assert answer.provider == "openai"
    assert answer.latency.endswith("ms") and answer.latency[:-2].isdigit()


def test_every_answer_says_who_served_it(client, request_id):
    raw = client.chat.completions.with_raw_response.create(
        model="openai/text", messages=user(), extra_headers={"X-Request-Id": request_id}
    )
    assert raw.headers["x-request-id"] == request_id
    assert raw.headers["x-gateway-provider"] == "openai"
    assert raw.headers["x-gateway-model"] == "openai/text"
    assert raw.headers["x-gateway-attempts"] == "1"
    assert raw.headers["x-gateway-overhead-us"].isdigit()
    assert raw.headers["x-gateway-cache"] in ("off", "miss", "bypass")


def test_a_bad_request_id_is_replaced(client):
    raw = client.chat.completions.with_raw_response.create(
        model="openai/text", messages=user(), extra_headers={"X-Request-Id": "x" * 200}
    )
    assert raw.headers["x-request-id"] not in ("", "x" * 200)


def test_the_instance_is_chosen_by_its_name(client):
    raw = client.chat.completions.with_raw_response.create(model="openai-backup/text", messages=user())
    assert raw.headers["x-gateway-provider"] == "openai-backup"
    assert raw.parse().provider == "openai-backup"


def test_unknown_fields_survive(client):
    extra = {"x_new_field": {"deep": [1, None, "ü"]}, "provider": {"order": ["a", "b"]}}
    answer = client.chat.completions.create(model="openai/echo", messages=user(), seed=7, extra_body=extra)
    received = json.loads(answer.choices[0].message.content)
    assert received["x_new_field"] == extra["x_new_field"]
    assert received["provider"] == extra["provider"]
    assert received["seed"] == 7
    assert received["model"] == "echo"


def test_the_body_goes_up_byte_for_byte(http):
    body = (
        '{ "zeta" : 2.50, "model":"openai/echo", "messages":[{"role":"user","content":"h\\u00e9 \\/"}],'
        '\n "big": 123456789012345678901234567890, "provider":"openai" }'
    )
    answer = http.post("/v1/chat/completions", content=body, headers={"content-type": "application/json"})
    received = answer.json()["choices"][0]["message"]["content"]
    assert '"zeta" : 2.50' in received
    assert '"content":"h\\u00e9 \\/"' in received
    assert '"big": 123456789012345678901234567890' in received
    assert json.loads(received)["model"] == "echo"
    assert "provider" not in json.loads(received), "the gateway's own hint goes no further"


def test_provider_credentials_go_up_and_the_caller_s_do_not(client, upstream, request_id):
    client.chat.completions.create(model="openai/text", messages=user(request_id))
    sent = next(request for request in upstream.requests() if request_id in request["body"])
    headers = dict(sent["headers"])
    assert headers["authorization"] == f"Bearer {rig.PROVIDER_KEY}"
    assert rig.MASTER_KEY not in json.dumps(sent)


def test_reasoning_and_cached_tokens_are_told(client):
    answer = client.chat.completions.create(model="openai/reasoning", messages=user())
    assert answer.choices[0].message.reasoning_content.startswith("Let me think")
    assert answer.usage.completion_tokens_details.reasoning_tokens > 0
    answer = client.chat.completions.create(model="openai/cached", messages=user())
    assert answer.usage.prompt_tokens_details.cached_tokens > 0


def test_an_empty_answer_is_an_answer(client):
    answer = client.chat.completions.create(model="openai/empty", messages=user())
    assert answer.choices[0].message.content == ""


def test_the_asynchronous_sdk_works_too(gateway):
    async def ask():
        url = f"http://127.0.0.1:{gateway.port}/v1"
        async with openai.AsyncOpenAI(base_url=url, api_key=rig.MASTER_KEY, max_retries=0) as client:
            calls = [client.chat.completions.create(model="openai/text", messages=user(str(n))) for n in range(20)]
            return await asyncio.gather(*calls)

    answers = asyncio.run(ask())
    assert [answer.choices[0].message.content.split()[-1] for answer in answers] == [str(n) for n in range(20)]
