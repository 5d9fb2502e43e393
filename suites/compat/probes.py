"""Small questions that every ingress asks."""

import json


def raises(kind, act):
    """The error that `act` ends in, which must be of that kind."""
    try:
        answer = act()
    except kind as error:
        return error
    raise AssertionError(f"{kind.__name__} was expected, not {answer!r}"[:300])


def check_settings(call, echoed, options):
    """Every parameter is in what the provider got, or is named as dropped: one of the two, never neither."""
    body = json.dumps(json.loads(echoed), separators=(",", ":"))
    dropped = call.dropped
    silent, claimed = [], []
    for name, (_, traces, names) in options.items():
        carried = any(trace in body for trace in traces)
        named = bool(dropped & set(names))
        if not carried and not named:
            silent.append(name)
        if carried and named:
            claimed.append(name)
    assert not silent, f"lost without a word: {silent}; dropped: {sorted(dropped)}; sent: {body[:900]}"
    assert not claimed, f"said to be dropped, but sent: {claimed}; sent: {body[:900]}"
