"""Whether scripts that are each bound by one known thing get that diagnosis, run after run.

    python benchmarks/diagnoses.py [RUNS]

Each script of fixtures/train that is bound by its loader, by storage, by logging or by compiling runs RUNS times (10)
under --runtime; the table shows how often the strongest diagnosis was the right one, and what else came first. Scripts
of two ranks, of which one is late, follow: how often that rank was named, with the phase it is late in. Then the
recommended number of workers is put to the test where the cores allow it.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

TRAIN = Path(__file__).parents[1] / "fixtures" / "train"
CASES = (
    ("loader_bound.py", ("0",), ("TPL901",)),
    ("loader_bound.py", ("2",), ("TPL311", "TPL902", "TPL906")),
    ("storage_bound.py", ("0",), ("TPL309",)),
    ("storage_bound.py", ("2",), ("TPL309",)),
    ("logging_bound.py", (), ("TPL904",)),
    ("compute_bound.py", (), ("TPL910", "TPL909")),
    ("compile_breaks.py", (), ("TPL913",)),
)
"""Script, its arguments, and the codes that are right: on few cores, workers that compute are short of cores, too."""
SKEWED = (
    ("late_rank.py", "rank 1 is late by ", "it waits for its data longer: "),
    ("two_ranks.py", "rank 1 is late by ", "it takes longer between its batch and the backward pass: "),
)
"""Scripts of two ranks, and how the title and the evidence of TPL763 begin where it is right."""


LAUNCHER = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2")


def watch(script, arguments, folder, launcher=()):
    """The `runtime` object of the JSON report."""
    events, report = folder / "run.events.jsonl", folder / "run.json"
    command = [sys.executable, *launcher, "-m", "torchperf_lint", "--runtime", "--isolated", "--events", str(events)]
    command += ["--output-format", "json", "--output-file", str(report), str(TRAIN / script), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
    if done.returncode:
        sys.exit(f"{script} ended with {done.returncode}:\n{done.stderr}")
    return json.loads(report.read_text(encoding="utf-8"))["runtime"]


def data_share(run):
    return next((phase["share"] for phase in run["breakdown"] or () if phase["phase"] == "data"), None)


def count_right(runs, folder):
    print(f"{'script':22} {'right':>7}  what came first")
    for script, arguments, right in CASES:
        first = Counter(watch(script, arguments, folder)["diagnoses"][0]["code"] for _ in range(runs))
        hits = sum(first[code] for code in right)
        told = ", ".join(f"{code} {times}" for code, times in first.most_common())
        print(f"{' '.join((script, *arguments)):22} {hits:3}/{runs:<3}  {told}")


def count_skewed(runs, folder):
    """The late rank and its phase, wherever among the diagnoses: it may be bound by its loader as well."""
    print(f"\n{'two ranks (gloo)':22} {'right':>7}  what TPL763 said")
    for script, title, evidence in SKEWED:
        late = Counter()
        hits = 0
        for _ in range(runs):
            found = [d for d in watch(script, (), folder, LAUNCHER)["diagnoses"] if d["code"] == "TPL763"]
            hits += any(d["title"].startswith(title) and d["evidence"].startswith(evidence) for d in found)
            late.update([found[0]["title"].partition(" by ")[0] if found else "nothing"])
        print(f"{script:22} {hits:3}/{runs:<3}  {', '.join(f'{said} {times}' for said, times in late.most_common())}")


def follow_advice(folder):
    """A loader that sleeps needs workers, not cores: the recommended number must bring the wait under 10 %.

    What remains is what handing a batch from a worker to the training process costs, which no worker takes away.
    """
    script, arguments = "sleeping_loader.py", ("0",)
    run = watch(script, arguments, folder)
    advised = re.search(r"num_workers=(\d+)", run["diagnoses"][0]["advice"])
    if advised is None:
        print(f"{script}: no number of workers advised: {run['diagnoses'][0]['advice']}")
        return
    after = watch(script, (advised.group(1),), folder)
    before, now = data_share(run), data_share(after)
    print(f"{script}: waits {before:.0%} of a step without workers, {now:.0%} with the advised {advised.group(1)}")


def main():
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    print(f"{len(os.sched_getaffinity(0))} cores")
    with tempfile.TemporaryDirectory() as name:
        count_right(runs, Path(name))
        count_skewed(runs, Path(name))
        for _ in range(min(runs, 3)):
            follow_advice(Path(name))


if __name__ == "__main__":
    main()
