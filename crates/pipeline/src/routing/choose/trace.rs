//! Strategies on a simulated trace: providers that slow down, fail and recover while calls keep coming.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt;
use std::time::Duration;

use domain::fault::FaultCode;
use domain::strategy::Strategy;

use super::splitmix64::SplitMix64;
use super::tests::{Target, among, targets};
use super::{Choice, SelectionContext, SelectionMode, rank};
use crate::routing::health::Admission;

const LENGTH: f64 = 1200.0;
const CALLS_PER_SECOND: f64 = 20.0;
/// Seconds that a failed attempt takes.
const FAILURE_TAKES: f64 = 0.5;

/// The behaviour of a provider at a time: its median latency in seconds, and the share of calls that fail.
type Behaviour = fn(f64) -> (f64, f64);

/// Maps a uniform draw to a multiple of the median; each provider has its own tail.
type Spread = fn(f64) -> f64;

const PROVIDERS: [(Behaviour, Spread); 4] = [
    // Fastest, but slows down from 300 to 700 and recovers; a long tail, 3 times the median at p95.
    (|at| (if (300.0..700.0).contains(&at) { 1.4 } else { 0.25 }, 0.0), |draw| 2.0f64.powf(normal(draw))),
    // Steady, hardly any spread.
    (|_| (0.42, 0.0), |draw| 0.9 + 0.2 * draw),
    // Becomes the fastest near the end, and is down from 100 to 160.
    (
        |at| (if at >= 1000.0 { 0.15 } else { 0.7 }, if (100.0..160.0).contains(&at) { 1.0 } else { 0.0 }),
        |draw| 0.4 - draw.ln() * 0.8656,
    ),
    // Drifts up and down, and fails now and then.
    (|at| (0.8 + 0.25 * (at / 40.0).sin(), 0.08), |draw| 0.5 + draw),
];

/// The times at which another provider becomes the fastest.
const PHASES: [f64; 5] = [0.0, 300.0, 700.0, 1000.0, LENGTH];

/// An approximate inverse of the normal distribution, good enough for a tail.
fn normal(draw: f64) -> f64 {
    4.91 * (draw.powf(0.14) - (1.0 - draw).powf(0.14))
}

/// The outcome of one call at each provider: a latency in seconds, or a failure.
fn weather(call: u64, at: f64) -> Vec<Option<f64>> {
    let mut random = SplitMix64::new(call.wrapping_mul(0x5851_f42d_4c95_7f2d));
    let meet = |&(behaviour, spread): &(Behaviour, Spread)| {
        let (median, failures) = behaviour(at);
        let (tail, luck) = (spread(random.fraction().clamp(1e-6, 1.0 - 1e-6)), random.fraction());
        (luck > failures).then_some(median * tail)
    };
    PROVIDERS.iter().map(meet).collect()
}

/// Calls in flight, by the time of their outcome.
#[derive(Default)]
struct InFlightCalls {
    queue: BinaryHeap<Reverse<(Duration, usize)>>,
    calls: Vec<Option<(Admission, Option<Duration>)>>,
}

impl InFlightCalls {
    fn start(&mut self, ends: Duration, admission: Admission, first_byte: Option<Duration>) {
        self.queue.push(Reverse((ends, self.calls.len())));
        self.calls.push(Some((admission, first_byte)));
    }

    fn settle(&mut self, now: Duration) {
        while let Some(&Reverse((ends, index))) = self.queue.peek()
            && ends <= now
        {
            self.queue.pop();
            match self.calls[index].take() {
                Some((admission, Some(first_byte))) => admission.succeeded(ends, first_byte),
                Some((admission, None)) => admission.failed(ends, FaultCode::UpstreamError.as_str()),
                None => None,
            };
        }
    }
}

/// The results of a run; times are in seconds.
struct Outcome {
    p50: f64,
    phase_p50s: [f64; 4],
    mean: f64,
    p95: f64,
    attempts_per_call: f64,
    /// The number of attempts at each provider.
    asked: [u32; PROVIDERS.len()],
}

impl fmt::Display for Outcome {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { p50, phase_p50s, mean, p95, attempts_per_call, asked } = self;
        write!(out, "p50 {p50:.3} s (by phase {phase_p50s:.3?}), mean {mean:.3} s, p95 {p95:.3} s, ")?;
        write!(out, "{attempts_per_call:.3} attempts per call, asked {asked:?}")
    }
}

fn percentile(sorted: &[f64], percent: usize) -> f64 {
    sorted[(sorted.len() * percent / 100).min(sorted.len() - 1)]
}

fn summary(mut latencies: Vec<f64>, asked: [u32; PROVIDERS.len()]) -> Outcome {
    let phases = PHASES.map(|at| (at * CALLS_PER_SECOND) as usize);
    let phase_p50s = std::array::from_fn(|phase| {
        let mut part = latencies[phases[phase]..phases[phase + 1]].to_vec();
        part.sort_by(f64::total_cmp);
        percentile(&part, 50)
    });
    latencies.sort_by(f64::total_cmp);
    Outcome {
        phase_p50s,
        p50: percentile(&latencies, 50),
        mean: latencies.iter().sum::<f64>() / latencies.len() as f64,
        p95: percentile(&latencies, 95),
        attempts_per_call: f64::from(asked.iter().sum::<u32>()) / latencies.len() as f64,
        asked,
    }
}

fn arrivals() -> impl Iterator<Item = (u64, f64)> {
    (0..(LENGTH * CALLS_PER_SECOND) as u64).map(|call| (call, call as f64 / CALLS_PER_SECOND))
}

/// Runs the whole trace under a strategy. `watch` sees each first choice before the call is made.
fn run(choice: &Choice<Target>, seed: u64, mut watch: impl FnMut(Duration, &Target)) -> Outcome {
    let mut under_way = InFlightCalls::default();
    let mut asked = [0; PROVIDERS.len()];
    let mut latencies = Vec::new();
    for (call, at) in arrivals() {
        let now = Duration::from_secs_f64(at);
        under_way.settle(now);
        let seed = SplitMix64::new(seed ^ call).draw();
        let (input_tokens, output_tokens, mode) = (1000, 500, SelectionMode::Live);
        let selection = SelectionContext { now, seed, input_tokens, output_tokens, mode, warm: None };
        let ranked = rank(choice, &selection);
        watch(now, &ranked[0].choice);
        let weather = weather(call, at);
        let mut waited = 0.0;
        for target in ranked.into_iter().map(|ranked| ranked.choice) {
            let Ok(admission) = target.health.admit(now) else { continue };
            asked[target.name] += 1;
            let took = weather[target.name];
            waited += took.unwrap_or(FAILURE_TAKES);
            let first_byte = took.map(Duration::from_secs_f64);
            under_way.start(Duration::from_secs_f64(at + waited), admission, first_byte);
            if took.is_some() {
                latencies.push(waited);
                break;
            }
        }
    }
    summary(latencies, asked)
}

/// The ideal strategy: always chooses the provider with the lowest median among those that do not fail.
fn oracle() -> Outcome {
    let mut asked = [0; PROVIDERS.len()];
    let latencies = arrivals().map(|(call, at)| {
        let medians = PROVIDERS.map(|(behaviour, _)| behaviour(at));
        let fastest = (0..PROVIDERS.len())
            .filter(|&index| medians[index].1 == 0.0)
            .min_by(|&one, &other| medians[one].0.total_cmp(&medians[other].0))
            .unwrap();
        asked[fastest] += 1;
        weather(call, at)[fastest].unwrap()
    });
    summary(latencies.collect(), asked)
}

#[test]
fn latency_is_within_a_tenth_of_the_oracle() {
    let oracle = oracle();
    println!("oracle:  {oracle}");
    for seed in [1, 2, 3] {
        let latency = run(&among(Strategy::Latency, &targets(PROVIDERS.len())), seed, |_, _| {});
        println!(
            "latency: {latency} ({:+.1} % of the oracle's p50)",
            (latency.p50 / oracle.p50 - 1.0) * 100.0
        );
        assert!(latency.p50 <= oracle.p50 * 1.10, "{} against {}", latency.p50, oracle.p50);
        for (own, oracle) in latency.phase_p50s.iter().zip(oracle.phase_p50s) {
            assert!(*own <= oracle * 1.15, "in one phase {own} against {oracle}");
        }
    }
}

#[test]
fn cost_never_goes_above_the_cheapest_healthy_target() {
    // The provider that is down for a minute is the cheapest; the one that often fails comes next.
    let mut targets = targets(PROVIDERS.len());
    targets.iter_mut().zip([30, 40, 10, 20]).for_each(|(target, price)| target.price = Some(price));
    let (mut choices, mut dearer, mut above) = (0u32, 0u32, 0u32);
    let outcome = run(&among(Strategy::Cost, &targets), 1, |now, chosen| {
        let healthy = targets.iter().filter(|target| target.health.availability(now).admits());
        let cheapest = healthy.filter_map(|target| target.price).min();
        choices += 1;
        dearer += u32::from(chosen.name != 2);
        above += u32::from(chosen.price > cheapest);
    });
    println!(
        "cost:    {outcome}; {choices} choices, {dearer} while the cheapest was open, {above} above the cheapest"
    );
    assert_eq!(above, 0);
    // Down for 60 s at 20 calls a second: avoided for about as long, and then found again.
    assert!((800..2_000).contains(&dearer), "{dearer}");
}

#[test]
fn adaptive_beats_chance() {
    for seed in [1, 2, 3] {
        let [adaptive, random] = [Strategy::Adaptive, Strategy::Random]
            .map(|strategy| run(&among(strategy, &targets(PROVIDERS.len())), seed, |_, _| {}));
        println!("adaptive: {adaptive}\nrandom:   {random}");
        assert!(adaptive.p50 < random.p50 * 0.9, "p50");
        assert!(adaptive.mean < random.mean * 0.6, "mean");
        assert!(adaptive.p95 < random.p95 * 0.5, "p95");
        assert!(adaptive.attempts_per_call < 1.0 + (random.attempts_per_call - 1.0) / 3.0, "attempts");
        for (adaptive, random) in adaptive.phase_p50s.iter().zip(random.phase_p50s) {
            assert!(*adaptive < random * 0.75, "in one phase {adaptive} against {random}");
        }
    }
}
