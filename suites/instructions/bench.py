"""A gateway under a tracer with its upstream, its keys and its database, and single calls to it."""

import sqlite3

import http1
import rig
from instructions import cases
from instructions.issuer import Issuer
from instructions.upstream import marker

# Without digits: the search for secrets in messages would cost more in those that contain a time with the same digits.
PROVIDER_KEY = "sk-upstream-secret-never-to-be-seen"
WRONG_KEY = "gk_" + "0" * 40
# Calls before the first run. The list of recent calls allocates until it is full.
WARM_UP = 1000


class Bench:
    def __init__(self, app, upstream, tracer, case):
        """A gateway with the settings, the guardrail and the budget of a case."""
        self.upstream = upstream
        directory = app.directory / f"{tracer.__name__}-{len(app.processes)}"
        provider = {"OPENAI_API_KEY": PROVIDER_KEY, "OPENAI_BASE_URL": upstream.url}
        issuer = app.add(Issuer()) if case.key == "token" else None
        accepted = issuer.settings() if issuer else {}
        self.gateway = app.add(tracer(directory, **provider, **accepted, **dict(case.settings)))
        self.gateway.start(models=[cases.MODEL])
        self.database = sqlite3.connect(directory / "data" / "gatehouse.db", isolation_level=None, timeout=60)
        self.keys = {
            "managed": self.new_key(name="managed"),
            "limited": self.new_key(name="limited", rate_limits={"requests_per_day": 1}),
            "wrong": WRONG_KEY,
        }
        if issuer:
            self.keys["token"] = issuer.token("someone@example.com")
        if case.guardrail:
            self.guard(case.guardrail)
        if case.budget:
            self.set_budget()
        # An idle connection that times out during a run would be counted.
        self.gateway.http.close()
        self.warm_up()
        self.gateway.attach()

    def stop(self):
        self.database.close()
        self.gateway.stop()

    def new_key(self, **fields):
        answer = self.gateway.admin("POST", "/auth-keys", json=fields)
        assert answer.status_code == 201, answer.text
        return answer.json()["key"]

    def guard(self, type):
        answer = self.gateway.admin("PUT", "/guardrails/guard", json={"type": type})
        assert answer.status_code in (200, 201), answer.text
        workflow = {"name": "guarded", "workflow_payload": {"guardrails": ["guard"]}}
        answer = self.gateway.admin("POST", "/workflows", json=workflow)
        assert answer.status_code == 201, answer.text

    def set_budget(self):
        documents = {f"/model-pricing/{cases.MODEL}": {"input_per_mtok": 1, "output_per_mtok": 1}, "/budgets/%2F/monthly": {"amount": 1_000_000}}
        for address, document in documents.items():
            answer = self.gateway.admin("PUT", address, json=document)
            assert answer.status_code in (200, 201), answer.text

    def warm_up(self):
        chat = cases.ALL[0]
        with http1.Connection(self.gateway.port, timeout=120) as connection:
            # The only call that the limited key may make.
            self.call(connection, chat, key="limited")
            for _ in range(WARM_UP):
                self.call(connection, chat)
        self.wait_for_rows(1 + WARM_UP)

    def rows(self):
        return self.database.execute("SELECT count(*) FROM usage").fetchone()[0]

    def wait_for_rows(self, expected):
        rig.eventually(lambda: self.rows() >= expected, 60, pause=0.05, what=f"booking of {expected} calls")
        assert self.rows() == expected, f"{self.rows()} rows instead of {expected}"

    def call(self, connection, case, key=None):
        headers = {"authorization": f"Bearer {self.keys[key or case.key]}"}
        if case.body:
            headers["content-type"] = "application/json"
        connection.request(case.method, case.path, headers, case.body)
        if case.streams:
            self.read_stream(connection, case.paced)
            return
        response = connection.response(case.method)
        assert response.status == case.status, f"{response.status}: {response.body[:500]}"

    def read_stream(self, connection, paced):
        """Reads a stream; if it is paced, event by event: the next one is sent when this one has arrived."""
        response = connection.head()
        assert response.status == 200, f"{response.status}: {connection.buffer[:500]}"
        for number in range(cases.EVENTS):
            connection._until(marker(number).encode())
            if paced:
                self.upstream.advance()
        connection._until(b"\r\n0\r\n\r\n")
