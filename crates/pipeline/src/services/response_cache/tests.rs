//! The cache alone: lifetimes, its bound, purging, and the calls that wait for one another.

use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use domain::call::Target;

use super::*;
use crate::services::recorded_answer::AnswerHead;

const KEY: CacheKey = [1; 32];
const NOW: Duration = Duration::from_secs(100);

fn answer(body: &'static str, path: &str) -> CachedAnswer {
    let mut head = AnswerHead::default();
    head.set_target(&Target { instance: "east".into(), provider_type: "openai".into(), model: "m".into() });
    CachedAnswer {
        answer: RecordedAnswer::new(head, Bytes::from_static(body.as_bytes())),
        is_stream: false,
        includes_usage: false,
        response_id: None,
        usage: None,
        cost: None,
        tenant: None,
        user_path: path.into(),
        expires_at: NOW + Duration::from_secs(10),
    }
}

fn cache() -> Arc<ResponseCache> {
    Arc::new(ResponseCache::new(1 << 20, None))
}

fn lead(cache: &Arc<ResponseCache>) -> Leader {
    match cache.claim(KEY, NOW) {
        Claim::Leader { leader, .. } => leader,
        Claim::Found(_) | Claim::InFlight(_) => panic!("nobody has asked before"),
    }
}

fn follow(cache: &Arc<ResponseCache>) -> PendingAnswer {
    match cache.claim(KEY, NOW) {
        Claim::InFlight(pending) => pending,
        Claim::Found(_) | Claim::Leader { .. } => panic!("another call is in flight"),
    }
}

fn poll(future: &mut std::pin::Pin<Box<impl Future<Output = Announced>>>) -> Poll<Announced> {
    future.as_mut().poll(&mut Context::from_waker(Waker::noop()))
}

type Announced = Option<Arc<CachedAnswer>>;

#[test]
fn an_entry_is_found_until_it_expires() {
    let cache = cache();
    assert!(matches!(cache.find(&KEY, NOW), Entry::Absent));
    cache.insert(KEY, Arc::new(answer("a", "/")), 0);
    let last = NOW + Duration::from_secs(10);
    assert!(matches!(cache.find(&KEY, last - Duration::from_nanos(1)), Entry::Fresh(_)));
    assert!(matches!(cache.find(&KEY, last), Entry::Expired));
    assert!(matches!(cache.find(&[2; 32], NOW), Entry::Absent));
    assert!(matches!(cache.claim(KEY, last), Claim::Leader { expired: true, .. }));
}

#[test]
fn the_bytes_of_all_entries_are_bounded() {
    let body: &'static str = "x".repeat(10_000).leak();
    let cache = Arc::new(ResponseCache::new(100_000, None));
    for number in 0..100u8 {
        cache.insert([number; 32], Arc::new(answer(body, "/")), 0);
    }
    let (entries, bytes) = cache.size();
    assert!((5..=10).contains(&entries) && bytes <= 100_000, "{entries} entries, {bytes} bytes");
}

#[test]
fn a_purge_removes_what_its_filter_names() {
    let cache = cache();
    for (number, path) in ["/a", "/a/b", "/ab", "/"].into_iter().enumerate() {
        cache.insert([number as u8; 32], Arc::new(answer("x", path)), 0);
    }
    let on_path = |path: &str| PurgeFilter {
        user_path: Some(UserPath::parse(path).unwrap()),
        ..PurgeFilter::default()
    };
    let of_model = |model: &str| PurgeFilter { model: Some(model.into()), ..PurgeFilter::default() };
    assert_eq!(cache.purge(&of_model("other")), 0);
    assert_eq!(cache.purge(&on_path("/a")), 2);
    let of_tenant = |tenant: &str| PurgeFilter { tenant: Some(tenant.into()), ..PurgeFilter::default() };
    let of_acme = CachedAnswer { tenant: Some("acme".into()), ..answer("x", "/") };
    cache.insert([9; 32], Arc::new(of_acme), cache.generation());
    assert_eq!((cache.purge(&of_tenant("other")), cache.purge(&of_tenant("acme"))), (0, 1));
    assert_eq!(cache.purge(&of_model("m")), 2);
    assert_eq!(cache.purge(&PurgeFilter::default()), 0);
    cache.insert(KEY, Arc::new(answer("late", "/")), 0);
    assert!(matches!(cache.find(&KEY, NOW), Entry::Absent), "an answer from before the purge");
    cache.insert(KEY, Arc::new(answer("new", "/")), cache.generation());
    assert!(matches!(cache.find(&KEY, NOW), Entry::Fresh(_)));
    assert_eq!(cache.purge(&PurgeFilter::default()), 1);
    assert!((0..4).all(|number| matches!(cache.find(&[number; 32], NOW), Entry::Absent)));
}

#[test]
fn calls_wait_for_the_answer_of_the_first() {
    let cache = cache();
    let leader = lead(&cache);
    let mut waiting: Vec<_> = (0..3).map(|_| Box::pin(follow(&cache).answer())).collect();
    assert!(waiting.iter_mut().all(|call| poll(call).is_pending()));
    leader.answer(answer("text", "/"), 0, NOW);
    for call in &mut waiting {
        let Poll::Ready(Some(found)) = poll(call) else { panic!("the answer has come") };
        assert_eq!(found.answer.body(), "text");
    }
    assert!(matches!(cache.claim(KEY, NOW), Claim::Found(_)));
}

#[test]
fn a_leader_without_an_answer_leaves_the_others_to_themselves() {
    let cache = cache();
    let leader = lead(&cache);
    let mut pending = Box::pin(follow(&cache).answer());
    assert!(poll(&mut pending).is_pending());
    drop(leader);
    assert_eq!(poll(&mut pending), Poll::Ready(None));
    drop(lead(&cache));
    assert!(matches!(cache.claim(KEY, NOW), Claim::Leader { expired: false, .. }));
}
