"""What watching costs on a card: the same steps, plain and watched, in turns: overhead.py [ROUNDS [DEVICE]].

Prints medians over the rounds and the ratio of each pair, once with a profiler's window and once without: CUPTI, once
Kineto has loaded it, stays attached and slows each later call of CUDA. Aims: under 8 % at 0.5 ms steps, under 3 % at 5
ms. DEVICE (cuda) can be cpu, to try the script.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
SCRIPT = HERE / "steps_on_device.py"
DEVICE = sys.argv[2] if len(sys.argv) > 2 else "cuda"
AIMS_MS = {0.5: 2000, 5.0: 300}
LIMITS = {0.5: 1.08, 5.0: 1.03}
WINDOWS = (0, 8)


def run(layers: int, steps: int, events: Path | None = None, window: int = 0) -> tuple[float, str]:
    """(median step in ms, last loss)."""
    ours = ["-m", "torchperf_lint", "--runtime", "--isolated", "--window", str(window), "--events", str(events)]
    command = [sys.executable, *(ours if events is not None else ()), str(SCRIPT), str(layers), str(steps), DEVICE]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr[-1000:])
    ms, loss = done.stdout.split()[-2:]
    return float(ms), loss


def layers_for(aim: float) -> int:
    """Steps are bound by launches, so they grow with the number of layers."""
    few, many = run(2, 200)[0], run(32, 200)[0]
    return max(1, round(2 + (aim - few) * 30 / max(many - few, 1e-6)))


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    print("  aim  layers  window   plain ms  watched ms   ratio  pairs          limit")
    with tempfile.TemporaryDirectory() as folder:
        for aim, steps in AIMS_MS.items():
            layers = layers_for(aim)
            for window in WINDOWS:
                pairs = []
                for number in range(rounds):
                    events = Path(folder) / f"{aim}-{window}-{number}.events.jsonl"
                    plain, watched = run(layers, steps), run(layers, steps, events, window)
                    if plain[1] != watched[1]:
                        sys.exit("watched and plain runs do not compute the same")
                    pairs.append((plain[0], watched[0]))
                medians = [statistics.median(pair[i] for pair in pairs) for i in (0, 1)]
                ratios = sorted(watched / plain for plain, watched in pairs)
                print(
                    f"{aim:5} {layers:7} {window:7} {medians[0]:10.3f} {medians[1]:11.3f} "
                    f"{medians[1] / medians[0]:7.3f}  {ratios[0]:.3f}..{ratios[-1]:.3f}  {LIMITS[aim]:.2f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
