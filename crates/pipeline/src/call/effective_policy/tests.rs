//! The precedence of the layers: the settings of the gateway, the workflow, the call, or the limits of the target's provider
//! instance.

use super::*;

const fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn policy() -> EffectivePolicy {
    EffectivePolicy::defaults(&Policy {
        first_event_timeout: seconds(1),
        stream_idle_timeout: seconds(2),
        request_timeout: seconds(3),
        retries: Retries { max: 4, longest_wait: seconds(5) },
        resume_streams: true,
        hedge_max_share: 0.1,
        ..Policy::default()
    })
}

#[test]
fn a_call_restricts_what_the_gateway_allows() {
    for (streams, is_large, resumes, hedges) in [
        (false, false, false, true),
        (true, false, true, true),
        (false, true, false, false),
        (true, true, true, false),
    ] {
        let call = policy().for_call(streams, is_large);
        assert_eq!((call.resume_streams, call.hedges), (resumes, hedges), "{streams} {is_large}");
        assert_eq!(EffectivePolicy { streams: false, resume_streams: true, hedges: true, ..call }, policy());
    }
    let off = EffectivePolicy::defaults(&Policy::default()).for_call(true, false);
    assert!(!off.resume_streams && !off.hedges, "a call switches nothing on");
}

#[test]
fn limits_of_an_instance_replace_the_settings() {
    let none = Limits::default();
    let own = Limits {
        first_byte: Some(seconds(10)),
        idle: Some(seconds(20)),
        total: Some(seconds(30)),
        retries: Some(0),
        ..none
    };
    let retries = |most| Retries { max: most, longest_wait: seconds(5) };
    for (streams, limits, answer, idle, most) in
        [(false, none, 3, 2, 4), (true, none, 1, 2, 4), (false, own, 30, 20, 0), (true, own, 10, 20, 0)]
    {
        let expected = TargetPolicy {
            answer_timeout: seconds(answer),
            usual_timeout: seconds(answer),
            idle_timeout: seconds(idle),
            retries: retries(most),
        };
        assert_eq!(policy().for_call(streams, false).at(&limits), expected, "{streams} {limits:?}");
    }
}

#[test]
fn options_of_a_workflow_come_first() {
    let none = Limits::default();
    let own = Limits { first_byte: Some(seconds(10)), total: Some(seconds(30)), retries: Some(0), ..none };
    let routing = RoutingOptions { timeout_ms: Some(5000), retries: Some(1), strategy: None };
    let features = WorkflowFeatures { fallback: false, ..WorkflowFeatures::default() };
    let workflow = WorkflowPayload { features, routing: Some(routing), ..WorkflowPayload::default() };
    for (streams, limits, usual) in [(false, none, 3), (true, none, 1), (false, own, 30), (true, own, 10)] {
        let policy = policy().for_workflow(&workflow).for_call(streams, false);
        let target = policy.at(&limits);
        assert_eq!((target.answer_timeout, target.usual_timeout), (seconds(5), seconds(usual)));
        assert_eq!((target.retries.max, policy.call_timeout([&limits])), (1, seconds(5)));
        assert!(!policy.features.fallback && policy.features.usage && !policy.features.audit);
    }
    let empty = policy().for_workflow(&WorkflowPayload::default());
    assert_eq!(empty, policy(), "a workflow without options changes nothing");
}

#[test]
fn the_whole_call_has_the_time_of_its_most_patient_target() {
    let limits = |total: Option<u64>| Limits { total: total.map(seconds), ..Limits::default() };
    for (targets, expected) in
        [(&[None][..], 3), (&[Some(1)], 3), (&[None, Some(9), Some(7)], 9), (&[Some(1), Some(2)], 3)]
    {
        let targets: Vec<Limits> = targets.iter().map(|total| limits(*total)).collect();
        assert_eq!(policy().call_timeout(&targets), seconds(expected));
    }
}
