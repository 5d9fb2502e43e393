//! Tests that an explanation matches the call that follows it: random configurations and calls, each explained and then
//! made.
//!
//! `EXPLAIN_CASES` sets the number of configurations. A disagreement names its number, and the same number always gives
//! the same configuration.

#![expect(clippy::unwrap_used, reason = "a rig that cannot be set up is a failed test")]

mod calls;
mod compare;
mod ground;
mod happened;
mod luck;
mod world;

use compare::Tally;
use ground::Ground;
use luck::Luck;

/// As many as a debug build runs in a few seconds.
const USUAL_CASES: u64 = 500;

#[expect(clippy::disallowed_methods, reason = "how long it may take is for whoever starts the tests to say")]
fn cases() -> u64 {
    let wanted = std::env::var("EXPLAIN_CASES").ok();
    wanted.map_or(USUAL_CASES, |text| text.parse().unwrap())
}

#[tokio::test]
async fn explanations_match_the_calls() {
    let ground = Ground::new().await;
    let mut tally = Tally::default();
    for case in 0..cases() {
        let mut luck = Luck::new(case);
        let world = world::draw(&mut luck, &ground);
        for number in 0..luck.between(1, 3) {
            let call = calls::draw(&mut luck, &world, &format!("case-{case}-{number}"));
            // Some calls are repeated, so that the second can be answered from the cache.
            let again = luck.percent(40).then(|| call.with_id(&format!("case-{case}-{number}-again")));
            for call in [Some(call), again].into_iter().flatten() {
                let explanation = happened::explained(&world, &call).await;
                ground.upstream.reset();
                let happened = happened::made(&world, &call).await;
                let name = format!("{case}.{number}");
                compare::hold(&mut tally, &ground, &call, &explanation, &happened, &name);
            }
        }
    }
    println!("{tally}");
    tally.expect_agreement();
}
