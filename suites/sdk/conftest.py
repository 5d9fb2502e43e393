"""One upstream and one gateway per session; tests that stop or configure a gateway start their own."""

import os
import uuid

import httpx
import openai
import pytest

import rig

os.environ["NO_PROXY"] = os.environ["no_proxy"] = "127.0.0.1,localhost"


@pytest.fixture(scope="session")
def upstream():
    upstream = rig.Upstream()
    yield upstream
    upstream.stop()


@pytest.fixture(scope="session")
def gateway(upstream, tmp_path_factory):
    unreachable = f"http://127.0.0.1:{rig.free_port()}/v1"
    gateway = rig.Gateway(
        tmp_path_factory.mktemp("gateway"),
        upstream,
        OPENAI_DEAD_API_KEY="sk-dead",
        OPENAI_DEAD_BASE_URL=unreachable,
        OPENAI_DEAD_MODELS="text",
    )
    gateway.start(models=["openai/text", "openai/long-20", "openai-backup/text"])
    yield gateway
    gateway.stop()


@pytest.fixture
def start_gateway(tmp_path):
    """Starts a gateway for the test: start_gateway(upstream, SETTING="value")."""
    started = []

    def start(upstream=None, **settings):
        gateway = rig.Gateway(tmp_path / f"gateway-{len(started)}", upstream, **settings)
        started.append(gateway)
        gateway.start(models=["openai/text"] if upstream else ())
        return gateway

    yield start
    for gateway in started:
        gateway.stop()


def sdk(gateway, key=rig.MASTER_KEY, **options):
    return openai.OpenAI(
        base_url=f"http://127.0.0.1:{gateway.port}/v1", api_key=key, max_retries=0, timeout=30, **options
    )


@pytest.fixture(scope="session")
def client(gateway):
    return sdk(gateway)


@pytest.fixture(scope="session")
def http(gateway):
    """A plain HTTP client with the master key, for details that the SDK hides."""
    with httpx.Client(
        base_url=f"http://127.0.0.1:{gateway.port}",
        headers=rig.bearer(rig.MASTER_KEY),
        trust_env=False,
        timeout=30,
    ) as http:
        yield http


@pytest.fixture
def request_id():
    return f"req-{uuid.uuid4().hex}"


def user(text="one two three"):
    return [{"role": "user", "content": text}]


def raw_stream(http, model, **body):
    """The response and the raw text of its stream."""
    body = {"model": model, "messages": user(), "stream": True} | body
    with http.stream("POST", "/v1/chat/completions", json=body) as answer:
        text = "".join(answer.iter_text())
    return answer, text


def envelope(answer, status, kind, code):
    """Checks the error envelope with all four keys and returns its content."""
    assert answer.status_code == status, answer.text
    error = answer.json()["error"]
    assert {"type", "message", "param", "code"} <= set(error), error
    assert (error["type"], error["code"]) == (kind, code), error
    assert error["message"]
    assert answer.headers["x-request-id"]
    return error
