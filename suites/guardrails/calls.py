"""Gateways with guardrails on some user paths, and the calls that are measured."""

import json

import rig

CHAT = "/v1/chat/completions"
WORDS = "The committee met again on Tuesday to discuss the new schedule, and nobody objected to the plan. "


def put_guardrail(gateway, name, document):
    answer = gateway.admin("PUT", f"/guardrails/{name}", json=document)
    assert answer.status_code in (200, 201), answer.text


def put_workflow(gateway, path, *guardrails):
    """Applies these guardrails to the calls of a user path."""
    payload = {"guardrails": [{"ref": name, "step": 1} for name in guardrails]}
    workflow = {"name": path.strip("/"), "scope": {"scope_user_path": path}, "workflow_payload": payload}
    answer = gateway.admin("POST", "/workflows", json=workflow)
    assert answer.status_code == 201, answer.text


def headers(path):
    return rig.bearer(rig.MASTER_KEY) | {"content-type": "application/json", "x-gateway-user-path": path}


def body(model, size=100, **options):
    """A request whose prompt has this many bytes."""
    prompt = (WORDS * (size // len(WORDS) + 1))[:size]
    messages = [{"role": "user", "content": prompt}]
    return json.dumps({"model": model, "messages": messages, "max_tokens": 400, **options}).encode()
