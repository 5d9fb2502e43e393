//! Property tests: encoded and rendered values are read back unchanged.

use bytes::Bytes;
use domain::canon::Reply;
use proptest::prelude::*;

use crate::generators::{reply, sayable, wild};
use crate::{
    accepted, client, collect, decode_stream, decoding, encoded, parse, render_stream, rendering, upstream,
};

/// The reply with the requested model name, which answers to clients of this format contain.
fn as_asked(reply: Reply) -> Reply {
    Reply { model: Some("asked-model".into()), ..reply }
}

fn without_raw(reply: Reply) -> Reply {
    Reply { raw_usage: Bytes::new(), ..reply }
}

proptest! {
    #[test]
    fn encoded_requests_parse_to_the_same_prompt(prompt in sayable()) {
        let model = "claude-sonnet-4-5-20250929";
        let (body, dropped) = encoded(&prompt, model);
        accepted::check(&body, model);
        prop_assert!(dropped.is_empty(), "{:?}", dropped);
        prop_assert_eq!(parse(&body).unwrap(), prompt);
    }

    #[test]
    fn every_generation_accepts_its_encoded_request(prompt in wild()) {
        for model in [
            "claude-3-5-sonnet-20241022", "claude-sonnet-4-20250514", "claude-sonnet-4-5", "claude-opus-4-6",
            "claude-opus-4-8", "claude-sonnet-5-5", "claude-opus-5-5", "another-model",
        ] {
            let (body, _) = encoded(&prompt, model);
            accepted::check(&body, model);
        }
    }

    #[test]
    fn rendered_answers_decode_to_the_same_reply(reply in reply()) {
        let body = client().render(&reply, &mut rendering());
        prop_assert_eq!(without_raw(upstream().decode(&body, &mut decoding(None)).unwrap()), as_asked(reply));
    }

    #[test]
    fn rendered_streams_decode_to_the_same_reply(reply in reply()) {
        let stream = render_stream(&reply.clone().into_events());
        prop_assert_eq!(without_raw(collect(&decode_stream(&[stream], None).unwrap())), as_asked(reply));
    }
}
