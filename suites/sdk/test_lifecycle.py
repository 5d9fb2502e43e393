"""Start and stop: the demo on a bare start, readiness, draining on SIGTERM."""

import socket
import stat
import time

import httpx
import openai
import pytest

import rig
from sdk.conftest import sdk, user


def test_with_nothing_configured_the_demo_answers(start_gateway):
    gateway = start_gateway()
    with sdk(gateway) as client:
        model = next(iter(client.models.list())).id
        assert model.startswith("demo/")
        answer = client.chat.completions.create(model=model, messages=user("hello"))
        assert answer.choices[0].message.content and answer.provider == "demo"
        again = client.chat.completions.create(model=model, messages=user("hello"))
        assert again.choices[0].message.content == answer.choices[0].message.content
        stream = client.chat.completions.create(model=model, messages=user("hello"), stream=True)
        text = "".join(chunk.choices[0].delta.content or "" for chunk in stream if chunk.choices)
        assert text == answer.choices[0].message.content


def test_the_demo_is_gone_once_a_provider_is_configured(gateway):
    assert not [model for model in gateway.models() if model.startswith("demo/")]


def test_without_a_master_key_one_is_made_and_nothing_is_open(start_gateway):
    gateway = start_gateway(GATEWAY_MASTER_KEY=None)
    assert gateway.http.get("/v1/models").status_code == 401
    files = [path for path in (gateway.directory / "data").rglob("*") if path.is_file()]
    keys = [path.read_text().strip() for path in files if "master" in path.name]
    assert len(keys) == 1 and keys[0] in gateway.log()
    assert all(stat.S_IMODE(path.stat().st_mode) & 0o077 == 0 for path in files if "key" in path.name)
    assert gateway.http.get("/v1/models", headers=rig.bearer(keys[0])).status_code == 200
    gateway.stop()
    gateway.start()
    assert gateway.http.get("/v1/models", headers=rig.bearer(keys[0])).status_code == 200
    assert gateway.log().count(keys[0]) == 1, "it is printed once"


def test_health_and_readiness_need_no_key(gateway):
    health = gateway.http.get("/health")
    assert health.status_code == 200 and health.json()["status"] == "ok"
    assert all(isinstance(value, str) for value in health.json().values())
    assert gateway.http.get("/ready").status_code == 200


def test_sigterm_lets_a_stream_finish(start_gateway, upstream, request_id):
    gateway = start_gateway(upstream)
    with sdk(gateway) as client:
        stream = client.chat.completions.create(
            model="openai/drip-100", messages=user(), stream=True, extra_headers={"X-Request-Id": request_id}
        )
        chunks = [next(stream) for _ in range(3)]
        gateway.terminate()
        chunks += list(stream)
    assert chunks[-1].choices[0].finish_reason == "stop"
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
    assert text.split() == [f"word{number}" for number in range(20)]
    assert gateway.process.wait(timeout=10) == 0
    gateway.start(models=["openai/text"])
    row = gateway.usage_row(request_id)
    assert row["estimated"] is False and row["output_tokens"] == 20


def test_after_sigterm_nothing_new_is_taken(start_gateway, upstream):
    gateway = start_gateway(upstream)
    with sdk(gateway) as client:
        stream = client.chat.completions.create(model="openai/drip-100", messages=user(), stream=True)
        next(stream)
        gateway.terminate()

        def refused():
            try:
                return httpx.get(f"http://127.0.0.1:{gateway.port}/ready", trust_env=False).status_code == 503
            except httpx.TransportError:
                return True

        rig.eventually(refused, timeout=1, what="the end of accepting")
        assert len(list(stream)) > 10
    assert gateway.process.wait(timeout=10) == 0


def test_a_second_signal_ends_it_at_once(start_gateway, upstream):
    gateway = start_gateway(upstream)
    with sdk(gateway) as client:
        stream = client.chat.completions.create(model="openai/hang-mid-stream", messages=user(), stream=True)
        next(stream)
        gateway.terminate()
        time.sleep(0.3)
        assert gateway.process.poll() is None, "the first signal waits for the stream"
        gateway.terminate()
        gateway.process.wait(timeout=3)
        with pytest.raises(openai.APIError):
            list(stream)


HEALTH = b"GET /health HTTP/1.1\r\nhost: gateway\r\n\r\n"


def test_connections_beyond_the_cap_wait_for_a_place(start_gateway):
    gateway = start_gateway(MAX_CONNECTIONS="2")
    gateway.http.close()
    address = ("127.0.0.1", gateway.port)

    def held():
        """A connection that is being served."""
        line = socket.create_connection(address, timeout=5)
        line.sendall(HEALTH)
        assert line.recv(4096).startswith(b"HTTP/1.1 200")
        return line

    first, second = held(), held()
    with socket.create_connection(address, timeout=0.5) as third:
        third.sendall(HEALTH)
        with pytest.raises(TimeoutError):
            third.recv(4096)
        first.close()
        third.settimeout(5)
        assert third.recv(4096).startswith(b"HTTP/1.1 200")
    second.close()


def test_a_head_that_never_ends_is_given_up(start_gateway):
    gateway = start_gateway(HEADER_TIMEOUT="1s")
    with socket.create_connection(("127.0.0.1", gateway.port), timeout=5) as line:
        line.sendall(b"GET /health HTTP/1.1\r\nhost:")
        begun = time.monotonic()
        while line.recv(4096):
            pass
        assert 0.5 < time.monotonic() - begun < 3
    assert gateway.http.get("/health").status_code == 200
