"""The AzureOpenAI client of the OpenAI SDK: deployments are models, and `api-version` is ignored."""

import httpx
import openai
import pytest

import rig

QUESTION = [{"role": "user", "content": "How are you?"}]


def azure(gateway, key=rig.MASTER_KEY, **options):
    return openai.AzureOpenAI(
        azure_endpoint=f"http://127.0.0.1:{gateway.port}",
        api_key=key,
        api_version="2024-10-21",
        max_retries=0,
        http_client=httpx.Client(trust_env=False, timeout=30),
        **options,
    )


def test_chat_whole_and_streamed(gateway):
    client = azure(gateway)
    whole = client.chat.completions.create(model="openai/text", messages=QUESTION)
    text = whole.choices[0].message.content
    assert text.startswith("Hello from the upstream.")
    chunks = client.chat.completions.create(model="openai/text", messages=QUESTION, stream=True)
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices) == text


def test_a_client_for_one_deployment(gateway):
    client = azure(gateway, azure_deployment="text")
    assert client.chat.completions.create(model="ignored", messages=QUESTION).choices[0].message.content


def test_embeddings_responses_and_models(gateway):
    client = azure(gateway)
    assert client.embeddings.create(model="openai/text", input="one").data[0].embedding
    assert client.responses.create(model="openai/text", input="hi").output_text
    assert "openai/text" in {model.id for model in client.models.list()}


def test_the_v1_address(gateway):
    client = openai.OpenAI(
        base_url=f"http://127.0.0.1:{gateway.port}/openai/v1/",
        api_key=rig.MASTER_KEY,
        default_query={"api-version": "preview"},
        max_retries=0,
    )
    assert client.chat.completions.create(model="openai/text", messages=QUESTION).choices[0].message.content


def test_a_wrong_key_and_an_unknown_deployment(gateway):
    with pytest.raises(openai.AuthenticationError):
        azure(gateway, "wrong").chat.completions.create(model="openai/text", messages=QUESTION)
    with pytest.raises(openai.NotFoundError) as raised:
        azure(gateway).chat.completions.create(model="nothing-like-it", messages=QUESTION)
    assert raised.value.code == "model_not_found"
