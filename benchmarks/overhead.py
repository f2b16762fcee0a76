"""What watching costs: the same training script, plain and under --runtime, in turns.

    python benchmarks/overhead.py [ROUNDS]

Prints a table of medians over the rounds. Wall time is what a user waits; the CPU time of the training thread says
the same with less noise on a shared machine, for these steps compute all the time. Also the size of the events file.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

SCRIPT = Path(__file__).with_name("steps_of.py")
AIMS_MS = (0.5, 5.0)
WIDTHS = (16, 32, 64, 128, 192, 256, 384, 512, 768, 1024, 1280, 1536, 2048)
STEPS = {0.5: 4000, 5.0: 800}
LIMITS = {0.5: 1.08, 5.0: 1.03}
LONG = 10_000
MOST_BYTES = 1_000_000


def times(arguments, watched, events=None):
    """(wall ms, CPU ms) a step, and the last loss."""
    ours = ["-m", "torchperf_lint", "--runtime", "--isolated"] if watched else []
    if watched:
        ours += ["--events", events]
    done = subprocess.run(
        [sys.executable, *ours, str(SCRIPT), *map(str, arguments)], capture_output=True, text=True, check=True
    )
    wall, cpu, loss = done.stdout.split()[-3:]
    return float(wall), float(cpu), loss


def width_for(aim):
    return min(WIDTHS, key=lambda width: abs(times((width, 60), False)[1] - aim))


def compare(aim, rounds, folder):
    width = width_for(aim)
    plain, watched = [], []
    for number in range(rounds):
        events = str(folder / f"{aim}-{number}.events.jsonl")
        pair = [(plain, False), (watched, True)]
        for into, is_watched in pair if number % 2 else reversed(pair):
            into.append(times((width, STEPS[aim]), is_watched, events))
    if {row[2] for row in plain} != {row[2] for row in watched}:
        sys.exit("watched and plain runs do not compute the same")
    ratios = [statistics.median(w[i] for w in watched) / statistics.median(p[i] for p in plain) for i in (0, 1)]
    pairs = sorted(w[1] / p[1] for w, p in zip(watched, plain, strict=True))
    step = statistics.median(p[0] for p in plain)
    spread = f"{pairs[0]:.3f}..{pairs[-1]:.3f}"
    print(f"{aim:5} {step:9.3f} {ratios[0]:8.3f} {ratios[1]:8.3f}   {spread}   {LIMITS[aim]:.2f}")


def size(folder):
    """Bytes of the record of a long run, and of one a tenth as long."""
    bytes_of = {}
    for steps in (LONG // 10, LONG):
        events = folder / f"long-{steps}.events.jsonl"
        times((16, steps), True, str(events))
        bytes_of[steps] = events.stat().st_size
    for steps, many in bytes_of.items():
        print(f"events file of {steps:6} steps: {many:8} bytes (limit for {LONG}: {MOST_BYTES})")


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 7
    with tempfile.TemporaryDirectory() as name:
        print("  aim   step ms  wall x    CPU x    CPU x by pair   limit")
        for aim in AIMS_MS:
            compare(aim, rounds, Path(name))
        size(Path(name))


if __name__ == "__main__":
    main()
