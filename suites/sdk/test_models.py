"""The model list and single models."""

import openai
import pytest

from sdk.conftest import envelope


def test_models_are_listed_by_instance(client):
    models = {model.id: model for model in client.models.list()}
    assert {"openai/text", "openai-backup/text", "openai/drip-20"} <= set(models)
    assert models["openai/text"].object == "model"
    assert models["openai/text"].owned_by


def test_a_model_is_retrieved_by_any_name_a_request_takes(client):
    assert client.models.retrieve("openai/text").id == "openai/text"
    assert client.models.retrieve("text").object == "model"


def test_an_unknown_model_is_not_found(client, http):
    with pytest.raises(openai.NotFoundError):
        client.models.retrieve("openai/nothing-like-it")
    envelope(http.get("/v1/models/nothing-like-it"), 404, "not_found_error", "model_not_found")


def test_anthropics_clients_read_their_own_list(http):
    answer = http.get("/v1/models", headers={"anthropic-version": "2023-06-01"}).json()
    assert answer["has_more"] is False
    first = answer["data"][0]
    assert first["type"] == "model" and first["id"] == answer["first_id"] == first["display_name"]
    assert first["created_at"].endswith("Z")
