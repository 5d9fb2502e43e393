"""Start and stop: the demo on a bare start, readiness, draining on SIGTERM."""

import json
import signal
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
    assert len(keys) == 1
    rig.eventually(lambda: keys[0] in gateway.log(), what="the key in the log")
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
        """Opens a connection that is being served."""
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


def reload(gateway, expected):
    seen = len(gateway.log())
    gateway.process.send_signal(signal.SIGHUP)
    rig.eventually(lambda: expected in gateway.log()[seen:], what=f"'{expected}' in the log")
    return gateway.log()[seen:]


def test_sighup_reloads_what_can_change_and_names_the_rest(start_gateway, upstream):
    gateway = start_gateway(GATEWAY_MASTER_KEY=None)
    old_key = (gateway.directory / "data" / "master.key").read_text().strip()
    new_key = "gm_a-new-master-key-0123456789"
    (gateway.directory / ".env").write_text(f"GATEWAY_MASTER_KEY={new_key}\nMAX_CONNECTIONS=99\nBODY_SIZE_LIMIT=1M\nLOG_REQUESTS=true\n")
    (gateway.directory / "gatehouse.yaml").write_text(
        f"providers:\n  lab:\n    type: openai_compatible\n    base_url: {upstream.url}\n    models: [text]\n"
    )
    stream = httpx.Client(base_url=f"http://127.0.0.1:{gateway.port}", trust_env=False, timeout=30)
    body = {"model": "demo-chat", "stream": True, "messages": [{"role": "user", "content": "x"}]}
    with stream.stream("POST", "/v1/chat/completions", json=body, headers=rig.bearer(old_key)) as running:
        log = reload(gateway, "configuration reloaded")
        assert "restart required" in log and "server.max_connections" in log and new_key not in log
        assert running.read().endswith(b"data: [DONE]\n\n"), "a running call finishes"
    assert gateway.http.get("/v1/models", headers=rig.bearer(old_key)).status_code == 401
    models = gateway.http.get("/v1/models", headers=rig.bearer(new_key)).json()
    assert "lab/text" in [model["id"] for model in models["data"]]
    answer = gateway.http.post(
        "/v1/chat/completions", headers=rig.bearer(new_key), json={"model": "lab/text", "messages": [{"role": "user", "content": "x"}]}
    )
    assert answer.status_code == 200, answer.text
    rig.eventually(lambda: "provider=\"lab\"" in gateway.log(), what="the request log")
    large = {"model": "lab/text", "messages": [{"role": "user", "content": "x" * (1 << 20)}]}
    refused = gateway.http.post("/v1/chat/completions", headers=rig.bearer(new_key), json=large)
    assert refused.status_code == 413, "the new limit is in force"

    (gateway.directory / "gatehouse.yaml").write_text("providers:\n  lab:\n    typ: openai\n")
    log = reload(gateway, "configuration not reloaded")
    assert "did you mean type" in log
    assert gateway.http.get("/v1/models", headers=rig.bearer(new_key)).status_code == 200
    assert gateway.process.poll() is None


def test_an_orderly_restart_takes_nothing_over(start_gateway, upstream):
    gateway = start_gateway(upstream)
    with sdk(gateway) as client:
        client.chat.completions.create(model="openai/text", messages=user())
    gateway.terminate()
    assert gateway.process.wait(timeout=15) == 0
    journal = gateway.directory / "data" / "journal"
    assert [path for path in journal.iterdir() if path.is_dir()] == []
    gateway.start(models=["openai/text"])
    time.sleep(0.5)
    assert "taking over" not in gateway.log()
    assert gateway.usage_log()["total"] == 1


def test_the_start_names_the_master_key_in_force(start_gateway):
    gateway = start_gateway()
    (gateway.directory / "data" / "master.key").write_text("gm_left-over-0123456789\n")
    gateway.stop()
    gateway.start()
    rig.eventually(lambda: "holds another master key" in gateway.log(), what="the warning in the log")
    log = gateway.log()
    assert f"from GATEWAY_MASTER_KEY (environment), ends in {rig.MASTER_KEY[-4:]}" in log
    assert "holds another master key, which is not in force" in log
    assert rig.MASTER_KEY not in log and "gm_left-over" not in log


def test_requests_are_logged_on_demand_with_the_clients_address(start_gateway, upstream, request_id):
    gateway = start_gateway(upstream, LOG_REQUESTS="true", LOG_FORMAT="json", TRUSTED_PROXIES="127.0.0.0/8, 10.0.0.1")
    headers = {"X-Request-Id": request_id, "X-Forwarded-For": "198.51.100.9, 203.0.113.7, 10.0.0.1"}
    with sdk(gateway) as client:
        client.chat.completions.create(model="openai/text", messages=user("a secret prompt"), extra_headers=headers)

    def logged():
        lines = [json.loads(line) for line in gateway.log().splitlines() if line.startswith("{") and line.endswith("}")]
        return [line for line in lines if line.get("request_id") == request_id and line["message"] == "request"]

    rig.eventually(logged, what="the request in the log")
    [line] = logged()
    assert (line["client_ip"], line["status"], line["provider"]) == ("203.0.113.7", 200, "openai"), line
    assert line["key"] == "master_key" and line["path"] == "/v1/chat/completions" and line["model"] == "text"
    assert line["total_tokens"] > 0 and line["duration_ms"] > 0 and "a secret prompt" not in gateway.log()
    quiet = start_gateway(upstream)
    with sdk(quiet) as client:
        client.chat.completions.create(model="openai/text", messages=user())
    assert "requested_model" not in quiet.log()
