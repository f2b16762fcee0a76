"""What watching costs a step, and how large the record of a long run is.

    python benchmarks/overhead.py [BLOCKS]

steps_of.py runs under --runtime, with the sampler beside it, and takes the probes out for every second block of 100
steps. The table shows the median over the pairs of blocks, with its quartiles, of the watched block's time over the
plain one's. A mean over each block is what a user waits: what is put off within a block is paid within it or the next
watched one. CPU time of the training thread says the same with less noise where others use the machine.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

SCRIPT = Path(__file__).with_name("steps_of.py")
AIMS_MS = (0.5, 5.0)
WIDTHS = (16, 64, 128, 192, 256, 384, 512, 768, 1024, 1280, 1536, 2048)
LIMITS = {0.5: 1.08, 5.0: 1.03}
SHARE = {0.5: 1.0, 5.0: 0.4}
"""How many of the blocks: long steps take long."""
LONG = 10_000
MOST_BYTES = 1_000_000


def run(width, blocks, events=None):
    """Rows of (watched wall, plain wall, watched CPU, plain CPU) in us a step, and the last loss."""
    ours = ["-m", "torchperf_lint", "--runtime", "--isolated", "--events", events] if events else []
    done = subprocess.run(
        [sys.executable, *ours, str(SCRIPT), str(width), str(blocks)], capture_output=True, text=True, check=True
    )
    *rows, loss = done.stdout.splitlines()
    return [tuple(map(float, row.split())) for row in rows], loss


def width_for(aim_ms):
    """The width whose plain step comes closest."""
    return min(WIDTHS, key=lambda width: abs(run(width, 1)[0][0][3] - aim_ms * 1000))


def compare(aim_ms, blocks, folder):
    width = width_for(aim_ms)
    rows, watched_loss = run(width, blocks, str(folder / f"{aim_ms}.events.jsonl"))
    if run(width, blocks)[1] != watched_loss:
        sys.exit("watched and plain runs do not compute the same")
    plain_ms = statistics.median(row[1] for row in rows) / 1000
    shown = [f"{aim_ms:5} {plain_ms:8.3f}"]
    for watched, plain in ((0, 1), (2, 3)):
        low, middle, high = statistics.quantiles((row[watched] / row[plain] for row in rows), n=4)
        shown.append(f"{middle:7.3f} ({low:.3f}..{high:.3f})")
    more_us = statistics.median(row[2] - row[3] for row in rows)
    print(*shown, f"{more_us:7.1f}", f"{LIMITS[aim_ms]:7.2f}", f"{len(rows):6}")


def sizes(folder):
    """Bytes of the record of a long run, and of one a tenth as long."""
    for steps in (LONG // 10, LONG):
        events = folder / f"long-{steps}.events.jsonl"
        run(16, steps // 200, str(events))
        print(f"record of {steps:6} steps: {events.stat().st_size:8} bytes (limit for {LONG}: {MOST_BYTES})")


def main():
    blocks = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    print("  aim  step ms  wall x (quartiles)      CPU x (quartiles)      + us CPU   limit  pairs")
    with tempfile.TemporaryDirectory() as name:
        for aim_ms in AIMS_MS:
            compare(aim_ms, int(blocks * SHARE[aim_ms]), Path(name))
        sizes(Path(name))


if __name__ == "__main__":
    main()
