//! The recorder alone: bytes and headers come back as they were sent, up to the limit, and nothing of what is cut off.

use std::sync::Arc;

use parking_lot::Mutex;

use domain::call::Target;
use http::HeaderValue;
use store::KeptAnswer;

use super::*;

/// The results that recorders handed over.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<Option<RecordedAnswer>>>>);

impl Kept {
    fn recorder(&self, limit: usize) -> AnswerRecorder {
        let kept = self.clone();
        AnswerRecorder::new(limit, move |answer, _| kept.0.lock().push(answer))
    }

    fn only(&self) -> Option<RecordedAnswer> {
        let kept = self.0.lock();
        assert_eq!(kept.len(), 1);
        kept[0].clone()
    }
}

fn target() -> Target {
    Target { instance: "east".into(), provider_type: "openai".into(), model: "gpt-5".into() }
}

fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
    let pairs = pairs.iter();
    pairs.map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value))).collect()
}

fn pieces(reply: Reply) -> Vec<Bytes> {
    match reply.body {
        ReplyBody::Whole { pieces, .. } => pieces.into(),
        ReplyBody::Stream(_) => panic!("a recorded answer is whole"),
    }
}

#[test]
fn the_events_of_a_stream_come_back_as_one_body() {
    let kept = Kept::default();
    let mut recorder = kept.recorder(100);
    let sent = headers(&[
        ("content-type", "text/event-stream"),
        ("x-gateway-provider", "openai"),
        ("x-gateway-overhead-us", "17"),
        ("x-request-id", "r"),
    ]);
    recorder.start(StatusCode::OK, &sent);
    for event in ["data: 1\n\n", ": keep-alive\n\n", "data: [DONE]\n\n"] {
        recorder.push(&Bytes::from_static(event.as_bytes()));
    }
    recorder.finish(&AnswerFacts { target: Some(&target()), ..AnswerFacts::default() });
    let answer = kept.only().unwrap();
    assert_eq!(answer.target(), target());
    let reply = replay(&answer);
    assert_eq!(reply.status, StatusCode::OK);
    let lasting = headers(&[("content-type", "text/event-stream"), ("x-gateway-provider", "openai")]);
    assert_eq!(reply.headers, lasting, "time and ids are those of the first call");
    assert_eq!(pieces(reply), ["data: 1\n\n: keep-alive\n\ndata: [DONE]\n\n"]);
}

#[test]
fn a_whole_reply_is_recorded_with_its_status() {
    let kept = Kept::default();
    let reply = Reply {
        status: StatusCode::ACCEPTED,
        headers: headers(&[("content-type", "application/json")]),
        body: ReplyBody::whole(vec![Bytes::from_static(b"{\"a\":"), Bytes::from_static(b"1}")]),
    };
    kept.recorder(100).record_whole(&reply, &AnswerFacts::default());
    let answer = kept.only().unwrap();
    assert_eq!(&*answer.target().instance, "");
    let again = replay(&answer);
    assert_eq!((again.status, &again.headers), (reply.status, &reply.headers));
    assert_eq!(pieces(again), ["{\"a\":1}"]);
}

#[test]
fn a_body_over_the_limit_is_reported_and_not_held() {
    for (parts, is_kept) in [(&[4, 4][..], true), (&[4, 5], false), (&[9], false), (&[9, 1], false)] {
        let kept = Kept::default();
        let mut recorder = kept.recorder(8);
        parts.iter().for_each(|length| recorder.push(&Bytes::from(vec![b'x'; *length])));
        assert_eq!(recorder.body.is_some(), is_kept, "{parts:?}");
        recorder.finish(&AnswerFacts::default());
        assert_eq!(kept.only().is_some(), is_kept, "{parts:?}");
    }
}

#[test]
fn a_dropped_recorder_keeps_nothing_and_drops_its_receiver() {
    let kept = Kept::default();
    let mut recorder = kept.recorder(100);
    recorder.start(StatusCode::OK, &HeaderMap::new());
    recorder.push(&Bytes::from_static(b"half of it"));
    assert_eq!(Arc::strong_count(&kept.0), 2);
    drop(recorder);
    assert_eq!(Arc::strong_count(&kept.0), 1);
    assert_eq!(kept.0.lock().len(), 0);
}

#[test]
fn stored_answers_of_this_and_earlier_versions_are_read() {
    let kept = Kept::default();
    let mut recorder = kept.recorder(100);
    recorder.start(StatusCode::CREATED, &headers(&[("cache-control", "no-cache")]));
    recorder.push(&Bytes::from_static(b"\xff"));
    recorder.finish(&AnswerFacts { target: Some(&target()), ..AnswerFacts::default() });
    let answer = kept.only().unwrap();
    assert_eq!(RecordedAnswer::from_stored(answer.clone().into_stored().unwrap()), Some(answer));

    let stored = |head: &str| KeptAnswer { head: head.into(), body: Bytes::from_static(b"{}") };
    let earlier = r#"{"headers":[["content-type","application/json"]],"provider":"openai","provider_name":"east","model":"gpt-5"}"#;
    let answer = RecordedAnswer::from_stored(stored(earlier)).unwrap();
    assert_eq!(answer.target(), target());
    let reply = replay(&answer);
    let expected = headers(&[("content-type", "application/json")]);
    assert_eq!((reply.status, reply.headers), (StatusCode::OK, expected));
    assert_eq!(RecordedAnswer::from_stored(stored("")), None);
}

#[test]
fn two_receivers_get_the_answer_each_up_to_its_own_limit() {
    let (small, large) = (Kept::default(), Kept::default());
    let join = |first: &Kept, second: &Kept| {
        AnswerRecorder::join(Some(Box::new(first.recorder(4))), Some(Box::new(second.recorder(8)))).unwrap()
    };
    let mut recorder = join(&small, &large);
    recorder.push(&Bytes::from_static(b"six ch"));
    recorder.finish(&AnswerFacts::default());
    assert_eq!((small.only().is_some(), large.only().is_some()), (false, true));

    drop(join(&small, &large));
    assert_eq!(
        (small.0.lock().len(), large.0.lock().len()),
        (1, 1),
        "an abandoned recording reaches neither"
    );
    assert!(AnswerRecorder::join(None, None).is_none());
}
