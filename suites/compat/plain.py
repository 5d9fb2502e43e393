"""Operations without a conversation: token counting, embeddings, rerank, legacy completions."""

import anthropic
import openai

from compat import cells
from compat.cells import GREETING, GREETING_PIECES, PROMPT
from compat.probes import raises

EMBEDDERS = (
    "openai/gpt-4.1~text",
    "gemini/gemini-2.5-flash~text",
    "azure/gpt-4.1~text",
    "ollama/llama3~text",
    "jina/jina-embeddings-v4",
)
COMPLETERS = (
    "openai/gpt-4.1~text",
    "openai_compatible/mixtral-8x7b~text",
    "azure/gpt-4.1~text",
    "ollama/llama3~text",
)


def expect_tokens(call, prompt, completion=0):
    def check(row, _):
        assert (row["input_tokens"], row["output_tokens"], row["estimated"]) == (prompt, completion, False), row

    call.inspect(check)


def count_tokens(app):
    for provider in cells.PROVIDERS:
        for family in provider.families:
            counted = app.anthropic.messages.count_tokens(
                model=f"{provider.instance}/{family.name}~text", messages=[{"role": "user", "content": PROMPT}]
            )
            if provider.instance == "anthropic":
                assert counted.input_tokens == 11, counted
            else:
                assert counted.input_tokens > 0 and counted.estimated is True, counted
    body = {"contents": [{"role": "user", "parts": [{"text": PROMPT}]}]}
    answer = app.http.post("/v1beta/models/anthropic/claude-sonnet-4-5~text:countTokens", json=body)
    assert answer.status_code == 200 and answer.json()["totalTokens"] > 0, answer.text


def embeddings(app):
    for model in EMBEDDERS:
        call = app.call()
        answer = app.openai.embeddings.create(
            model=model, input=["one two", "three"], extra_headers=call.headers
        )
        assert [entry.index for entry in answer.data] == [0, 1], answer
        assert all(len(entry.embedding) == 8 for entry in answer.data)
        assert answer.data[0].embedding != answer.data[1].embedding
        assert answer.usage.prompt_tokens == 11
        expect_tokens(call, 11)
        floats = app.openai.embeddings.create(
            model=model, input="one two", encoding_format="float", dimensions=3
        )
        assert len(floats.data[0].embedding) == 3
    refused = raises(
        openai.APIStatusError,
        lambda: app.openai.embeddings.create(model="anthropic/claude-sonnet-4-5~text", input="x"),
    )
    assert (refused.status_code, refused.body["code"]) == (501, "unsupported_operation"), refused.body


def rerank(app):
    call = app.call()
    body = {
        "model": "jina/jina-reranker-v3",
        "query": "red apples",
        "top_n": 2,
        "return_documents": True,
        "documents": ["green pears", "red apples", "red wine"],
    }
    answer = app.http.post("/v1/rerank", json=body, headers=call.headers)
    assert answer.status_code == 200, answer.text
    results = answer.json()["results"]
    assert [result["index"] for result in results] == [1, 2], results
    assert results[0]["relevance_score"] > results[1]["relevance_score"]
    assert results[0]["document"]["text"] == "red apples"
    expect_tokens(call, 16)
    more = app.http.post("/v1/rerank", json=body | {"top_n": 4})
    assert more.status_code == 400 and more.json()["error"]["param"] == "top_n", more.text
    unable = app.http.post("/v1/rerank", json=body | {"model": "openai/gpt-4.1~text"})
    assert (unable.status_code, unable.json()["error"]["code"]) == (501, "unsupported_rerank_operation"), (
        unable.text
    )


def completions(app):
    for model in COMPLETERS:
        call = app.call()
        answer = app.openai.completions.create(model=model, prompt=PROMPT, extra_headers=call.headers)
        assert answer.object == "text_completion" and answer.choices[0].text == GREETING, answer
        assert answer.choices[0].finish_reason == "stop" and answer.usage.prompt_tokens == 11
        expect_tokens(call, 11, GREETING_PIECES)
        call = app.call()
        chunks = list(
            app.openai.completions.create(model=model, prompt=PROMPT, stream=True, extra_headers=call.headers)
        )
        assert "".join(chunk.choices[0].text for chunk in chunks if chunk.choices) == GREETING
        expect_tokens(call, 11, GREETING_PIECES)
    refused = raises(
        openai.APIStatusError,
        lambda: app.openai.completions.create(model="gemini/gemini-3-pro~text", prompt="x"),
    )
    assert (refused.status_code, refused.body["code"]) == (501, "unsupported_operation"), refused.body


def model_lists(app):
    listed = [model.id for model in app.anthropic.models.list()]
    assert "gemini/gemini-3-pro~text" in listed, listed[:5]
    assert isinstance(app.anthropic, anthropic.Anthropic)
    assert app.openai.models.retrieve("gemini/gemini-3-pro~text").id == "gemini/gemini-3-pro~text"


CHECKS = {
    "count_tokens is answered by the provider or estimated": count_tokens,
    "embeddings": embeddings,
    "rerank": rerank,
    "completions": completions,
    "the list of models in both formats": model_lists,
}
