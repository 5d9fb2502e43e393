//! Demo.

use super::*;

pub(super) static VENDOR: Vendor = Vendor {
    name: "demo",
    title: "Demo",
    credentials: Credentials::None,
    key_required: false,
    discovery: Discovery::None,
    models: crate::demo::MODELS,
    paths: Paths { chat: Some("/chat/completions"), embeddings: Some("/embeddings"), ..NOTHING },
    answer: Some(crate::demo::answer),
    ..HOSTED
};
