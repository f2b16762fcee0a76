"""What watching costs a step, and how large the record of a long run is.

    python benchmarks/overhead.py [SECONDS [DEVICE]]

DEVICE (cpu) can be cuda: one length of step, which launches bound, with two copies and a wait in each.

steps_of.py runs under --runtime, with the sampler beside it, and takes the probes out for every second short block of
steps, in the order watched, plain, plain, watched. SECONDS (40): about how long it trains for each length of step.

The figure that decides is the median, over all pairs of neighbouring blocks, of the watched one's wall time over the
plain one's, and the interval around it that holds the median of 95 % of samples drawn anew from these pairs
(bootstrap; whole quads are drawn, for their pairs share what happened around them). CPU time of the training thread
stands beside it. Writing the record, once a second, is not in it: its share of the time has a column of its own, and
is added to what is held against the limit.
"""

from __future__ import annotations

import functools
import math
import random
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

SCRIPT = Path(__file__).with_name("steps_of.py")
AIMS_MS = (0.5, 5.0)
WIDTHS = (16, 64, 128, 192, 256, 384, 512, 768, 1024, 1280, 1536, 2048)
LIMITS = {0.5: 1.08, 5.0: 1.03}
DEVICE = sys.argv[2] if len(sys.argv) > 2 else "cpu"
ON_DEVICE = (0.5, 64)
"""On a card, whatever the width, as long as launches bound the step."""
STEPS = {0.5: 16, 5.0: 4}
"""In a block: some 10 to 20 ms."""
SAMPLES = 1000
LONG = 10_000
MOST_BYTES = 1_000_000


def run(width, quads, steps, events=None):
    """Rows of (watched wall, plain wall, watched CPU, plain CPU) in us a step, ms of a write, and the last loss."""
    ours = ["-m", "torchperf_lint", "--runtime", "--isolated", "--events", events] if events else []
    done = subprocess.run(
        [sys.executable, *ours, str(SCRIPT), str(width), str(quads), str(steps), DEVICE],
        capture_output=True,
        text=True,
        check=True,
    )
    *rows, written_ms, loss = done.stdout.splitlines()
    return [tuple(map(float, row.split())) for row in rows], float(written_ms), loss


@functools.cache
def plain_ms(width, quads=4, steps=8):
    """The median of a plain step."""
    return statistics.median(row[1] for row in run(width, quads, steps)[0]) / 1000


def width_for(aim_ms):
    """The width whose plain step comes closest."""
    return min(WIDTHS, key=lambda width: abs(plain_ms(width) - aim_ms))


def interval(ratios):
    """What holds 95 % of the medians of samples drawn anew; `ratios`: two of each quad, side by side."""
    draw = random.Random(0)
    quads = list(zip(ratios[::2], ratios[1::2], strict=True))
    medians = sorted(
        statistics.median(ratio for quad in draw.choices(quads, k=len(quads)) for ratio in quad) for _ in range(SAMPLES)
    )
    return medians[round(0.025 * SAMPLES)], medians[round(0.975 * SAMPLES) - 1]


def compare(aim_ms, width, seconds, folder):
    steps = STEPS[aim_ms]
    quads = math.ceil(seconds / (4 * steps * aim_ms / 1000))
    rows, written_ms, loss = run(width, quads, steps, str(folder / f"{aim_ms}.events.jsonl"))
    if run(width, quads, steps)[2] != loss:
        sys.exit("watched and plain runs do not compute the same")
    writing = written_ms / 1000
    ratios = [row[0] / row[1] for row in rows]
    wall, (low, high) = statistics.median(ratios), interval(ratios)
    cpu = statistics.median(row[2] / row[3] for row in rows)
    more = [statistics.median(row[watched] - row[watched + 1] for row in rows) for watched in (0, 2)]
    verdict = "met" if high + writing <= LIMITS[aim_ms] else "missed" if low + writing > LIMITS[aim_ms] else "open"
    print(
        f"{aim_ms:5} {statistics.median(row[1] for row in rows) / 1000:8.3f} {wall:7.3f} ({low:.3f}..{high:.3f})"
        f" {cpu:7.3f} {more[0]:10.1f} {more[1]:9.1f} {writing:9.2%} {LIMITS[aim_ms]:7.2f} {verdict:>7} {len(rows):6}"
    )


def sizes(folder):
    """Bytes of the record of a long run, and of one a tenth as long."""
    for steps in (LONG // 10, LONG):
        events = folder / f"long-{steps}.events.jsonl"
        run(16, steps // 32, 16, str(events))
        print(f"record of {steps:6} steps: {events.stat().st_size:8} bytes (limit for {LONG}: {MOST_BYTES})")


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 40.0
    print("  aim  step ms  wall x (95 % interval)   CPU x  + us wall  + us CPU   writing   limit           pairs")
    with tempfile.TemporaryDirectory() as name:
        if DEVICE != "cpu":
            compare(*ON_DEVICE, seconds, Path(name))
            return
        for aim_ms in AIMS_MS:
            compare(aim_ms, width_for(aim_ms), seconds, Path(name))
        sizes(Path(name))


if __name__ == "__main__":
    main()
