//! The dialects: how each is read from a client, sent to a provider and followed on its way back.

pub mod chat;
pub mod completions;
pub mod embeddings;
pub mod generate;
pub mod messages;
mod plain;
pub mod rerank;
pub mod responses;

/// Stands where a codec is still being written.
pub(crate) struct Unwritten;

impl crate::codec::Decoder for Unwritten {
    fn read(
        &mut self,
        _: &crate::sse::Event,
        _: &mut Vec<domain::canon::Event>,
    ) -> Result<(), domain::fault::Fault> {
        Err(domain::fault::internal_error())
    }
    fn close(&mut self, _: &mut Vec<domain::canon::Event>) -> Result<(), domain::fault::Fault> {
        Err(domain::fault::internal_error())
    }
}

impl crate::codec::Renderer for Unwritten {
    fn write(&mut self, _: &domain::canon::Event, _: &mut bytes::BytesMut) {}
    fn fail(&mut self, _: &domain::fault::Fault, _: &mut bytes::BytesMut) {}
}
