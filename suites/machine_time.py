"""Seconds that a virtual machine really had: its host can refuse it the CPU, and limits of time then say nothing."""

import time


def cpu_ticks():
    """Clock ticks since boot in which processes ran, and those in which the host refused the CPU."""
    try:
        with open("/proc/stat") as stat:
            user, nice, system, _idle, _wait, interrupts, soft, refused = map(int, stat.readline().split()[1:9])
    except (OSError, ValueError):
        return 0, 0
    return user + nice + system + interrupts + soft, refused


class Stopwatch:
    """Measures time and leaves out the share that was refused. Without a host that refuses CPU it is a plain stopwatch."""

    def __init__(self):
        self.begun, self.ticks = time.monotonic(), cpu_ticks()

    def granted_share(self):
        ran, refused = (now - then for now, then in zip(cpu_ticks(), self.ticks))
        return ran / (ran + refused) if ran > 0 else 1.0

    def wall_seconds(self):
        return time.monotonic() - self.begun

    def seconds(self):
        return self.wall_seconds() * self.granted_share()


def sleep(seconds, at_most=8):
    """Sleeps until the machine had these seconds; at most `at_most` times as long."""
    watch = Stopwatch()
    while (watch.seconds() < seconds or watch.wall_seconds() < seconds) and watch.wall_seconds() < at_most * seconds:
        time.sleep(min(0.5, seconds))
