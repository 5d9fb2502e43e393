"""Timing and isolation: events without delay, estimates after disconnects, no client credential upstream."""

import json
import time

import rig
from compat import cells, chat, messages, responses
from compat.opaque import cell_of

# Bounds of an estimate, as a ratio to the upstream's bill.
LEAST, MOST = 0.5, 2.0

MODULES = {"chat": chat, "responses": responses, "messages": messages}


def nothing_waits(app):
    """Checks that no event waits for the next one: the provider stalls after three pieces, and all three must have
    arrived."""
    for provider in cells.PROVIDERS:
        for ingress, module in MODULES.items():
            cell = cell_of(app, ingress, provider.instance, 1)
            call, opened = module.ask(cell, "hang-mid-stream", True, timeout=5)
            seen = 0
            for event in opened:
                seen += is_delta(ingress, event)
                if seen == 3:
                    break
            opened.close()
            assert seen == 3, (cell.name, seen)
            call.estimated()


def disconnects(app):
    """Checks that disconnected calls are booked by estimate; the ratio of estimate to bill is printed."""
    errors = []
    for provider in cells.PROVIDERS:
        for ingress in MODULES:
            cell = cell_of(app, ingress, provider.instance, 1)
            call, opened = MODULES[ingress].ask(cell, "drip-20", True)
            deltas = 0
            for event in opened:
                deltas += is_delta(ingress, event)
                if deltas == 6:
                    break
            opened.close()
            call.inspect(lambda row, line, errors=errors: estimate(row, line, errors))
    app.notes.append(lambda: bound(errors))
    time.sleep(0.3)


def is_delta(ingress, event):
    if ingress == "chat":
        return bool(event.choices and event.choices[0].delta.content)
    return event.type in ("response.output_text.delta", "content_block_delta")


def estimate(row, line, errors):
    assert row["estimated"] is True and row["output_tokens"] > 0 and row["input_tokens"] > 0, row
    assert line is not None and line["cancelled"], line
    errors.append((row["output_tokens"] / line["completion_tokens"], row["input_tokens"] / line["prompt_tokens"]))
    # The upstream counts words; a tokenizer counts one or two tokens for each of these.
    assert all(LEAST <= ratio <= MOST for ratio in errors[-1]), (row, line)


def bound(errors):
    if not errors:
        return "disconnects: none booked"
    outputs, inputs = zip(*errors)
    return (
        f"disconnects: {len(errors)} booked by estimate; estimated / billed output {min(outputs):.2f} to "
        f"{max(outputs):.2f}, input {min(inputs):.2f} to {max(inputs):.2f}; bound {LEAST} to {MOST}"
    )


def no_client_credentials(app):
    """Checks that the client's key is not sent upstream."""
    requests = app.upstream.requests()
    assert requests
    for request in requests:
        assert rig.MASTER_KEY not in json.dumps(request["headers"]), request["path"]


CHECKS = {
    "a translated stream delays no event": nothing_waits,
    "disconnects are estimated, marked, and within half and twice the bill": disconnects,
    "client credentials are never sent to a provider": no_client_credentials,
}

# Checks that measure time, or inspect everything before them.
ALONE = (disconnects, no_client_credentials)
