//! Jina: reranking and embeddings, no chat.

use super::*;

pub(super) static VENDOR: Vendor = Vendor {
    name: "jina",
    title: "Jina AI",
    base_url: Some("https://api.jina.ai/v1"),
    discovery: Discovery::None,
    models: &[
        "jina-reranker-v3",
        "jina-reranker-m0",
        "jina-reranker-v2-base-multilingual",
        "jina-colbert-v2",
        "jina-embeddings-v4",
        "jina-embeddings-v3",
        "jina-clip-v2",
    ],
    paths: Paths { embeddings: Some("/embeddings"), rerank: Some("/rerank"), ..NOTHING },
    ..HOSTED
};
