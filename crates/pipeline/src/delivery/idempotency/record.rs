//! Records a reply as it is sent, for calls that repeat it.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, HeaderName, HeaderValue, header};
use serde::{Deserialize, Serialize};
use store::{Claim, KeptAnswer};

use crate::call::response_headers;
use crate::delivery::reply::{Reply, ReplyBody};
use crate::routing::routes::Lane;

/// Larger bodies are not stored.
const MOST: usize = 4 << 20;

/// Headers that also hold for a replayed reply. Time and cost do not.
static LASTING: [HeaderName; 7] = [
    header::CONTENT_TYPE,
    header::CACHE_CONTROL,
    response_headers::PROVIDER,
    response_headers::MODEL,
    response_headers::ATTEMPTS,
    response_headers::CACHE,
    response_headers::DROPPED,
];

/// The headers of a reply, and the target that it came from.
#[derive(Default, Serialize, Deserialize)]
pub struct Head {
    headers: Vec<(String, String)>,
    pub provider: String,
    pub provider_name: String,
    pub model: String,
}

impl Head {
    pub fn headers(&self) -> HeaderMap {
        let read = |(name, value): &(String, String)| {
            Some((HeaderName::try_from(name).ok()?, HeaderValue::try_from(value).ok()?))
        };
        self.headers.iter().filter_map(read).collect()
    }
}

/// The record of one reply. If it is dropped before the reply is complete, the key is free for the next attempt.
pub struct Record {
    claim: Claim,
    ttl: Duration,
    head: Head,
    body: BytesMut,
    too_large: bool,
}

impl Record {
    pub fn new(claim: Claim, ttl: Duration) -> Self {
        Self { claim, ttl, head: Head::default(), body: BytesMut::new(), too_large: false }
    }

    pub fn begin(&mut self, headers: &HeaderMap) {
        let lasting = LASTING.iter().filter_map(|name| {
            let value = headers.get(name)?.to_str().ok()?;
            Some((name.as_str().to_owned(), value.to_owned()))
        });
        self.head.headers = lasting.collect();
    }

    pub fn hear(&mut self, bytes: &Bytes) {
        if self.too_large || self.body.len() + bytes.len() > MOST {
            self.too_large = true;
            self.body = BytesMut::new();
            return;
        }
        self.body.extend_from_slice(bytes);
    }

    /// Stores the complete reply.
    pub fn keep(self, lane: Option<&Lane>) {
        let Self { claim, ttl, mut head, body, too_large } = self;
        if let Some(lane) = lane {
            head.provider = lane.target.provider_type.to_string();
            head.provider_name = lane.target.instance.to_string();
            head.model = lane.target.model.to_string();
        }
        let answer = serde_json::to_string(&head).ok().filter(|_| !too_large);
        claim.keep(answer.map(|head| KeptAnswer { head, body: body.freeze() }), ttl);
    }

    pub fn keep_whole(mut self, reply: &Reply, lane: Option<&Lane>) {
        self.begin(&reply.headers);
        if let ReplyBody::Whole { pieces, .. } = &reply.body {
            pieces.iter().for_each(|piece| self.hear(piece));
        }
        self.keep(lane);
    }
}
