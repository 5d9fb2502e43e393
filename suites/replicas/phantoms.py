"""Phantom refusals: calls that were refused although there was room the whole time between arrival and refusal.

Room is judged from outside, with every doubt in favour of the gateway: a served call counts with its worst-case cost from its
arrival at the upstream until its client has the answer, and with its booked cost after that; a lease of a replica that is
dead or paused counts as used until it is back.
"""

import bisect

# Seconds between an event in the gateway and the time at which a client or the upstream notices it.
SLACK = 0.1


def find(calls, costs, arrivals, strandings, amount, worst):
    """The refused calls that had room. `costs` and `arrivals` are by request id; amounts in nano-dollars."""
    use = Use(steps(calls, costs, arrivals, strandings, worst))
    return [call for call in calls if is_refusal(call) and amount - use.most(call.started, call.ended) >= worst]


def is_refusal(call):
    return call.status == 429


def steps(calls, costs, arrivals, strandings, worst):
    for call in calls:
        cost = costs.get(call.request_id)
        if is_refusal(call) or cost is None and call.request_id not in arrivals:
            continue
        yield arrivals.get(call.request_id, call.started) - SLACK, worst
        if call.acknowledged:
            yield call.ended + SLACK, (cost or 0) - worst
    for stranding in strandings:
        yield stranding.begun - SLACK, stranding.leased
        if stranding.ended != float("inf"):
            yield stranding.ended + SLACK, -stranding.leased


class Use:
    """A step function with its maxima over intervals (a sparse table)."""

    def __init__(self, steps):
        self.times, level, levels = [], 0, []
        for at, change in sorted(steps):
            level += change
            self.times.append(at)
            levels.append(level)
        self.maxima = [levels]
        width = 1
        while 2 * width <= len(levels):
            last = self.maxima[-1]
            self.maxima.append([max(last[n], last[n + width]) for n in range(len(last) - width)])
            width *= 2

    def most(self, begun, ended):
        """The largest level in this interval."""
        last = bisect.bisect_right(self.times, ended) - 1
        if last < 0:
            return 0
        first = max(0, bisect.bisect_right(self.times, begun) - 1)
        # Before the first step the level is zero.
        power = (last - first + 1).bit_length() - 1
        table = self.maxima[power]
        return max(table[first], table[last - (1 << power) + 1])
