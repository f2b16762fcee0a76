"""Whether scripts that others wrote, each slow for one reason that they planted, get that diagnosis.

    python benchmarks/bounded.py [SCRIPT ...]

fixtures/bounded was written by people who had not seen the tool; truth.tsv there has each script's cause, the diagnosis
that says it, and words that its advice must hold. "first": it is the first that is something to do (or, where nothing
is to be done, all that is said); "said": it is among the rest. Scripts whose framework is missing are left out. Runs
take half a minute each.
"""

from __future__ import annotations

import csv
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

BOUNDED = Path(__file__).parents[1] / "fixtures" / "bounded"
MERELY_SUMS_UP = {"TPL900", "TPL909", "TPL910"}
"""Where nothing is to be done one of these stands alone."""


def diagnoses(script, ranks, folder):
    events, report = folder / "run.events.jsonl", folder / "run.json"
    launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", ranks] if ranks != "1" else []
    command = [sys.executable, *launcher, "-m", "torchperf_lint", "--runtime", "--isolated", "--events", str(events)]
    command += ["--output-format", "json", "--output-file", str(report), str(BOUNDED / script)]
    # Two threads of OpenMP that share a busy core cost more than they do; one script is about just that.
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder, env=environment)
    if done.returncode:
        sys.exit(f"{script} ended with {done.returncode}:\n{done.stderr}")
    return json.loads(report.read_text(encoding="utf-8"))["runtime"]["diagnoses"]


def judged(row, said):
    """ "first", "said" or "no"."""
    right, words = row["right"].split(), row["advice"] if row["advice"] != "-" else ""
    to_do = [one for one in said if one["code"] not in MERELY_SUMS_UP]
    first = to_do[0] if to_do else said[0]
    if first["code"] in right and words in first["advice"]:
        return "first"
    return "said" if any(one["code"] in right and words in one["advice"] for one in said) else "no"


def main():
    with (BOUNDED / "truth.tsv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file, delimiter="\t") if not sys.argv[1:] or row["script"] in sys.argv]
    print(f"{'script':22} {'cause':44} {'':6} diagnoses, strongest first")
    counts = {"first": 0, "said": 0, "no": 0}
    for row in rows:
        if row["needs"] != "-" and importlib.util.find_spec(row["needs"]) is None:
            print(f"{row['script']:22} {row['cause']:44} -      needs {row['needs']}")
            continue
        with tempfile.TemporaryDirectory() as name:
            said = diagnoses(row["script"], row["ranks"], Path(name))
        verdict = judged(row, said)
        counts[verdict] += 1
        print(f"{row['script']:22} {row['cause']:44} {verdict:6} {' '.join(one['code'] for one in said)}", flush=True)
    print(", ".join(f"{count} {verdict}" for verdict, count in counts.items()))


if __name__ == "__main__":
    main()
