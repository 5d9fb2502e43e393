"""The lifecycle of stored responses, on providers that store them and on those that do not."""

import json

import openai

from compat.cells import GREETING, PROMPT, PROVIDERS
from compat.probes import raises

# A provider that stores responses itself, and several that do not.
NATIVE = "openai/gpt-4.1"
TRANSLATED = (
    "anthropic/claude-sonnet-4-5",
    "gemini/gemini-3-pro",
    "openai_compatible/qwen3-32b",
    "azure/gpt-5-mini",
    "ollama/llama3",
)
EVERYWHERE = (NATIVE, *TRANSLATED)


def make(app, model, client=None, **options):
    call = app.call()
    options = {"input": PROMPT, "extra_headers": call.headers} | options
    response = (client or app.openai).responses.create(model=model, **options)
    return response


def refused(act, status, code=None, param=None):
    error = raises(openai.APIStatusError, act)
    assert error.status_code == status, (error.status_code, error.body)
    if code:
        assert error.body["code"] == code, error.body
    if param:
        assert error.body["param"] == param, error.body
    return error


def stored(app):
    for model in EVERYWHERE:
        made = make(app, f"{model}~text")
        read = app.openai.responses.retrieve(made.id)
        assert read.model_dump() == made.model_dump(), (made, read)


def input_items(app):
    sent = [
        {"role": "user", "content": "first"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "second"}]},
        {
            "type": "message",
            "role": "user",
            "content": [{"type": "input_text", "text": "third"}],
            "id": "msg_third",
        },
    ]
    for model in EVERYWHERE:
        made = make(app, f"{model}~text", input=sent)
        path = f"/v1/responses/{made.id}/input_items"
        everything = app.http.get(path).json()
        assert everything["object"] == "list" and everything["data"] == sent, everything
        assert everything["has_more"] is False and everything["last_id"] == "msg_third"
        assert app.http.get(path, params={"order": "desc"}).json()["data"] == sent[::-1]
        first = app.http.get(path, params={"limit": 2}).json()
        assert first["data"] == sent[:2] and first["has_more"] is True
        rest = app.http.get(path, params={"limit": 2, "after": first["last_id"]}).json()
        assert rest["data"] == sent[2:] and rest["has_more"] is False
        assert app.http.get(path, params={"limit": 101}).status_code == 400
        # The SDK follows the pages.
        assert len(list(app.openai.responses.input_items.list(made.id, order="asc"))) == 3


def string_input(app):
    for model in (NATIVE, TRANSLATED[0]):
        made = make(app, f"{model}~text")
        listed = app.http.get(f"/v1/responses/{made.id}/input_items").json()["data"]
        assert listed == [
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": PROMPT}]}
        ], listed


def deleted(app):
    for model in EVERYWHERE:
        made = make(app, f"{model}~text")
        answer = app.http.delete(f"/v1/responses/{made.id}")
        assert answer.status_code == 200, answer.text
        assert answer.json() == {"id": made.id, "object": "response", "deleted": True}
        if model != NATIVE:
            refused(lambda: app.openai.responses.retrieve(made.id), 404)
            refused(
                lambda: make(app, f"{model}~text", previous_response_id=made.id),
                404,
                param="previous_response_id",
            )


def goes_on_everywhere(app):
    """Three turns by id on each provider, the second one streamed."""
    for model in EVERYWHERE:
        first = make(app, f"{model}~text", input="apples")
        with app.openai.responses.stream(
            model=f"{model}~text", input="pears", previous_response_id=first.id
        ) as stream:
            second = stream.get_final_response()
        assert second.previous_response_id == first.id
        third = make(app, f"{model}~echo", input="plums", previous_response_id=second.id)
        if model != NATIVE:
            body = third.output_text
            places = [
                body.find(word) for word in ("apples", "You said: apples", "pears", "You said: pears", "plums")
            ]
            assert -1 not in places, body
            assert places == sorted(places), body


def crosses_providers(app):
    """A conversation that moves from one provider to another."""
    for model, other in (
        (NATIVE, TRANSLATED[0]),
        (TRANSLATED[0], NATIVE),
        (TRANSLATED[1], TRANSLATED[0]),
        (TRANSLATED[2], TRANSLATED[1]),
    ):
        first = make(app, f"{model}~text", input="apples")
        second = make(app, f"{other}~echo", input="plums", previous_response_id=first.id)
        body = second.output_text
        assert -1 < body.find("You said: apples") < body.find("plums"), body


def not_stored(app):
    for model in EVERYWHERE:
        made = make(app, f"{model}~text", store=False)
        refused(lambda: app.openai.responses.retrieve(made.id), 404)
        refused(
            lambda: make(app, f"{model}~text", previous_response_id=made.id), 404, param="previous_response_id"
        )


def streamed_is_not_retrievable(app):
    for model in TRANSLATED[:2]:
        with app.openai.responses.stream(model=f"{model}~text", input=PROMPT) as stream:
            made = stream.get_final_response()
        refused(lambda: app.openai.responses.retrieve(made.id), 404)


def owned(app):
    """Checks that another key's response does not exist for this one; an admin sees all."""
    mine, theirs = (app.openai_client(app.key(name)) for name in ("mine", "theirs"))
    for model in (NATIVE, TRANSLATED[0]):
        made = make(app, f"{model}~text", client=mine)
        with mine.responses.stream(model=f"{model}~text", input=PROMPT) as stream:
            streamed = stream.get_final_response()
        assert mine.responses.retrieve(made.id).id == made.id
        for response in (made, streamed):
            refused(lambda: theirs.responses.retrieve(response.id), 404)
            refused(lambda: theirs.responses.retrieve(response.id, extra_query={"provider": "openai"}), 404)
            refused(lambda: theirs.responses.delete(response.id), 404)
            refused(lambda: theirs.responses.cancel(response.id), 404)
            refused(lambda: list(theirs.responses.input_items.list(response.id)), 404)
            refused(
                lambda: make(app, f"{model}~text", client=theirs, previous_response_id=response.id),
                404,
                param="previous_response_id",
            )
        assert app.openai.responses.retrieve(made.id).id == made.id
        assert make(app, f"{model}~text", client=mine, previous_response_id=streamed.id).output_text == GREETING


def unsupported(app):
    code = "unsupported_response_operation"
    for model in TRANSLATED:
        made = make(app, f"{model}~text")
        refused(lambda: app.openai.responses.cancel(made.id), 501, code)
        refused(lambda: app.openai.responses.compact(model=f"{model}~text", input=PROMPT), 501, code)
        instance = model.split("/")[0]
        for method in ("GET", "DELETE"):
            answer = app.http.request(method, "/v1/responses/resp_nobody", params={"provider": instance})
            assert answer.status_code == 501 and answer.json()["error"]["code"] == code, answer.text
            assert answer.json()["error"]["type"] == "invalid_request_error"


def native_lookup(app):
    """Checks that a response created directly at the provider is found there, for admins only."""
    body = {"model": "gpt-4.1~text", "input": PROMPT, "store": True}
    headers = {"authorization": "Bearer straight"}
    made = app.upstream.http.post("/v1/responses", json=body, headers=headers).json()
    found = app.http.get(f"/v1/responses/{made['id']}", params={"provider": "openai"})
    assert found.status_code == 200 and found.json()["id"] == made["id"], found.text
    items = app.http.get(f"/v1/responses/{made['id']}/input_items", params={"provider": "openai"})
    assert items.status_code == 200 and items.json()["object"] == "list", items.text
    other = app.openai_client(app.key("curious"))
    refused(lambda: other.responses.retrieve(made["id"], extra_query={"provider": "openai"}), 404)
    gone = app.http.delete(f"/v1/responses/{made['id']}", params={"provider": "openai"})
    assert gone.status_code == 200 and gone.json()["deleted"] is True, gone.text
    assert app.http.get("/v1/responses/resp_nobody").status_code == 404
    assert app.http.get("/v1/responses/resp_nobody", params={"provider": "nobody"}).status_code in (400, 404)


def background(app):
    made = make(app, f"{NATIVE}~text", background=True)
    assert made.status in ("queued", "in_progress"), made.status
    for _ in range(5):
        read = app.openai.responses.retrieve(made.id)
        if read.status == "completed":
            break
    assert read.status == "completed" and read.output_text == GREETING, read
    waiting = make(app, f"{NATIVE}~text", background=True)
    assert app.openai.responses.cancel(waiting.id).status == "cancelled"


def compacted(app):
    answer = app.openai.responses.compact(model=f"{NATIVE}~text", input=[{"role": "user", "content": PROMPT}])
    assert answer.object == "response.compaction" and answer.output, answer


def counted(app):
    native = app.openai.responses.input_tokens.count(model=f"{NATIVE}~text", input=PROMPT)
    assert native.object == "response.input_tokens" and native.input_tokens == 11, native
    for model in TRANSLATED:
        here = app.openai.responses.input_tokens.count(model=f"{model}~text", input=PROMPT)
        assert here.input_tokens > 0 and here.estimated is True, here


def survives_a_restart(app):
    gateway = app.another()
    client = app.openai_client(url=f"http://127.0.0.1:{gateway.port}")
    made = make(app, f"{TRANSLATED[0]}~text", client=client)
    gateway.stop()
    gateway.start(models=["anthropic/claude-sonnet-4-5~text"])
    assert client.responses.retrieve(made.id).output_text == GREETING
    echoed = make(
        app, f"{TRANSLATED[0]}~echo", client=client, input="plums", previous_response_id=made.id
    ).output_text
    assert "You said: one two three" in echoed, echoed


def unchanged_fields(app):
    """Checks that a native provider gets the client's body unchanged, except for the model."""
    body = {
        "model": f"{NATIVE}~echo",
        "input": PROMPT,
        "store": False,
        "truncation": "auto",
        "metadata": {"a": "b"},
        "include": ["message.output_text.logprobs"],
        "text": {"format": {"type": "text"}},
        "top_p": 0.5,
    }
    answer = app.http.post("/v1/responses", json=body).json()
    text = answer["output"][0]["content"][0]["text"]
    assert json.loads(text) == body | {"model": "gpt-4.1~echo"}, text


CHECKS = {
    "a stored response is read back unchanged, on every provider": stored,
    "input items are listed as sent, with paging": input_items,
    "a string input is listed as one message": string_input,
    "a deleted response is 404": deleted,
    "previous_response_id continues a conversation on every provider, also after a stream": goes_on_everywhere,
    "previous_response_id continues a conversation at another provider": crosses_providers,
    "with store: false a response can be neither read nor continued": not_stored,
    "a streamed response cannot be retrieved": streamed_is_not_retrievable,
    "another key's response is 404": owned,
    "an operation that the provider does not support is 501": unsupported,
    "provider= reads a response from its provider": native_lookup,
    "background responses are polled and cancelled at their provider": background,
    "compaction at a provider that supports it": compacted,
    "input tokens are counted by the provider or estimated": counted,
    "stored responses survive a restart": survives_a_restart,
    "a native provider gets the fields unchanged": unchanged_fields,
}

assert {model.split("/")[0] for model in EVERYWHERE} == {provider.instance for provider in PROVIDERS}
