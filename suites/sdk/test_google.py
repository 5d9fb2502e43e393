"""Google's GenAI SDK: models, embeddings, token counting, and readable errors."""

import httpx
import pytest
from google import genai
from google.genai import errors, types

import rig


def google(gateway, key=rig.MASTER_KEY):
    options = {"base_url": f"http://127.0.0.1:{gateway.port}", "httpx_client": httpx.Client(trust_env=False, timeout=30)}
    return genai.Client(api_key=key, http_options=options)


def test_models_are_listed_and_retrieved(gateway):
    client = google(gateway)
    # The SDK follows the pages.
    models = {model.name: model for model in client.models.list(config={"page_size": 7})}
    assert {"models/openai/text", "models/openai-backup/text"} <= set(models)
    assert len(models) == len(gateway.models())
    assert "generateContent" in models["models/openai/text"].supported_actions
    assert client.models.get(model="openai/text").name == "models/openai/text"


def test_content_is_generated_by_a_listed_name(gateway):
    answer = google(gateway).models.generate_content(model="models/openai/text", contents="How are you?")
    assert answer.text.startswith("Hello from the upstream.")


def test_texts_are_embedded(gateway):
    config = types.EmbedContentConfig(output_dimensionality=4)
    answer = google(gateway).models.embed_content(model="openai/text", contents=["one", "two"], config=config)
    assert len(answer.embeddings) == 2
    assert all(embedding.values for embedding in answer.embeddings)


def test_tokens_are_counted(gateway):
    assert google(gateway).models.count_tokens(model="openai/text", contents="one two three").total_tokens > 0


@pytest.mark.parametrize(
    ("model", "key", "code", "status", "reason"),
    [
        ("openai/text", "wrong", 401, "UNAUTHENTICATED", "INVALID_API_KEY"),
        ("nothing-like-it", rig.MASTER_KEY, 404, "NOT_FOUND", "MODEL_NOT_FOUND"),
        ("openai/error-429", rig.MASTER_KEY, 429, "RESOURCE_EXHAUSTED", None),
    ],
)
def test_errors_are_googles(gateway, model, key, code, status, reason):
    client = google(gateway, key)
    for call in (
        lambda: client.models.generate_content(model=model, contents="hi"),
        lambda: list(client.models.generate_content_stream(model=model, contents="hi")),
    ):
        with pytest.raises(errors.ClientError) as raised:
            call()
        assert (raised.value.code, raised.value.status) == (code, status)
        assert raised.value.message
        info = raised.value.details["error"]["details"][0]
        assert reason in (None, info["reason"])
