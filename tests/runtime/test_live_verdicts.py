"""Rules that confirm and refute in live runs of the same lines: fixtures/live under the simulated device."""

import json
import os
import subprocess
import sys
from collections import defaultdict

import pytest
from builders import ROOT

LIVE = ROOT / "fixtures" / "live"
READS = {"TPL104", "TPL105", "TPL106", "TPL107", "TPL108", "TPL109", "TPL111", "TPL116", "TPL119"} | {
    "TPL201", "TPL251", "TPL252", "TPL254"
}  # fmt: skip
HELPERS = {"TPL101", "TPL102", "TPL103", "TPL110", "TPL112", "TPL113", "TPL202", "TPL203", "TPL204", "TPL205"}
LOADERS = {"TPL313", "TPL323", "TPL552"}
SWITCHES = {"TPL402", "TPL407", "TPL555", "TPL556", "TPL602", "TPL603", "TPL762"}
CASES = [
    ("reads.py", READS, (["cuda"], {}), (["cpu"], {})),
    ("helpers.py", HELPERS, (["cuda"], {}), (["cpu"], {})),
    ("switches.py", SWITCHES, ([], {}), (["fine"], {})),
    ("loaders.py", LOADERS, ("4 1 4 2".split(), {}), ("1 4 1 0".split(), {"CUDA_LAUNCH_BLOCKING": "0"})),
]
"""Script, the rules it is about, and what makes its lines slow or not: arguments, environment."""


def verdicts(script, how, folder):
    """Code -> outcomes of its findings."""
    arguments, environment = how
    report = folder / "run.json"
    done = subprocess.run(
        [sys.executable, "-m", "torchperf_lint", "--runtime", "--simulate", "--confidence", "possible",
         "--extend-select", "TPL603",
         "--events", str(folder / "run.events.jsonl"), "--output-format", "json", "--output-file", str(report),
         str(LIVE / script), *arguments],
        cwd=folder, env={**os.environ, "PYTHONPATH": str(ROOT), **environment}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = defaultdict(set)
    for finding in json.loads(report.read_text(encoding="utf-8"))["findings"]:
        found[finding["code"]].add(finding["verdict"]["outcome"])
        assert " ms" not in finding["verdict"]["reason"], "a simulated run has no times"
    return dict(found)


@pytest.mark.parametrize(("script", "codes", "slow", "fine"), CASES, ids=[case[0] for case in CASES])
def test_the_same_lines_are_confirmed_and_refuted(script, codes, slow, fine, tmp_path):
    confirmed, refuted = verdicts(script, slow, tmp_path), verdicts(script, fine, tmp_path)
    assert {code: confirmed.get(code) for code in codes} == {code: {"confirmed"} for code in codes}
    assert {code: refuted.get(code) for code in codes} == {code: {"refuted"} for code in codes}


def test_the_first_step_of_a_loop_without_a_loader_counts(tmp_path):
    """Its call of the model comes before anything has trained, its backward pass after."""
    script = tmp_path / "train.py"
    script.write_text(
        "import torch\nm = torch.nn.Linear(4, 4).cuda()\no = torch.optim.SGD(m.parameters(), 0.1)\n"
        "for i in range(20):\n    x = torch.ones(4).to('cuda')\n    o.zero_grad()\n"
        "    m(x).sum().backward()\n    o.step()\n",
        encoding="utf-8",
    )
    report = tmp_path / "run.json"
    options = ["--runtime", "--isolated", "--simulate", "--output-format", "json", "--output-file", str(report)]
    command = [sys.executable, "-m", "torchperf_lint", *options, "train.py"]
    subprocess.run(command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=True)
    (found,) = json.loads(report.read_text(encoding="utf-8"))["findings"]
    assert found["verdict"]["reason"] == "20 copies to the device in 20 of 20 steps"
