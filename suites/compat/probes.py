"""Small checks shared by all client formats."""

import json


def raises(kind, act):
    """Returns the error that `act` raises, which must be of that type."""
    try:
        answer = act()
    except kind as error:
        return error
    raise AssertionError(f"{kind.__name__} was expected, not {answer!r}"[:300])


def check_settings(call, echoed, options):
    """Checks that every parameter is either in the provider's request or reported as dropped."""
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
