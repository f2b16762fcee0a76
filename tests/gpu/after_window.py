"""What a profiler's window leaves behind on a card: steps before and after it: after_window.py [ROUNDS].

CUPTI, once Kineto has loaded it, stays attached and slows each later call of CUDA, unless it is detached. In turns: a
run that nobody watches, one whose window detaches CUPTI, one that keeps it (TEARDOWN_CUPTI=0). For each the median over
the rounds of the step's median after the window over that before it; the first says what the machine does by itself.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
SCRIPT = HERE / "steps_on_device.py"
STEPS, AT = 1200, 400
MARGIN = 5
OURS = ["-m", "torchperf_lint", "--runtime", "--isolated", "--warmup", str(AT - MARGIN), "--window", "8", "--events"]
WAYS = {"plain": None, "detached": {}, "kept": {"TEARDOWN_CUPTI": "0"}}


def run(layers: int, events: str, environment: dict[str, str] | None) -> tuple[float, float, str]:
    """(median step before in ms, median step after in ms, last loss); no `environment`: nobody watches."""
    ours = [] if environment is None else [*OURS, events]
    command = [sys.executable, *ours, str(SCRIPT), str(layers), str(STEPS), str(AT)]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=120, check=False, env={**os.environ, **(environment or {})}
    )
    if done.returncode:
        raise RuntimeError(done.stderr[-1000:])
    before, after, loss = done.stdout.split()[-3:]
    return float(before), float(after), loss


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    seen: dict[str, list[tuple[float, float]]] = {way: [] for way in WAYS}
    losses = set()
    print("window     before ms   after ms  after / before")
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(rounds):
            for way, environment in WAYS.items():
                before, after, loss = run(2, str(Path(folder) / "run.events.jsonl"), environment)
                seen[way].append((before, after))
                losses.add(loss)
                # At once: a lease may end before the rounds do.
                print(f"{way:9} {before:10.3f} {after:10.3f}  {after / before:.3f}", flush=True)
    if len(losses) > 1:
        sys.exit(f"watched and plain runs do not compute the same: {losses}")
    print("\nwindow     before ms   after ms  after / before, medians (by round)")
    for way, pairs in seen.items():
        ratios = [after / before for before, after in pairs]
        medians = [statistics.median(pair[i] for pair in pairs) for i in (0, 1)]
        listed = " ".join(f"{ratio:.3f}" for ratio in sorted(ratios))
        print(f"{way:9} {medians[0]:10.3f} {medians[1]:10.3f}  {statistics.median(ratios):.3f}  ({listed})")


if __name__ == "__main__":
    main()
