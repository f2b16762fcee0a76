"""Rules that confirm and refute in live runs of the same lines: fixtures/live under the simulated device."""

import json
import subprocess
import sys
from collections import defaultdict

import pytest
from builders import ENVIRONMENT, ROOT, UNCOMPILED

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
        cwd=folder, env={**ENVIRONMENT, **UNCOMPILED, **environment}, capture_output=True, text=True,
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
    (found,) = findings_of_run(script)
    assert found["verdict"]["reason"] == "20 copies to the device in 20 of 20 steps"


def test_numbers_written_into_the_device_are_uploaded_where_they_are_written(tmp_path):
    script = tmp_path / "train.py"
    script.write_text(
        "import torch\nm = torch.nn.Linear(4, 4).cuda()\no = torch.optim.SGD(m.parameters(), 0.1)\n"
        "for i in range(20):\n    x = torch.ones(8, 4, device='cuda')\n    gain = torch.ones(7, device='cuda')\n"
        "    gain[2:4] = torch.tensor(x.shape)[[1, 0]]\n    o.zero_grad()\n"
        "    (m(x) * gain[2]).sum().backward()\n    o.step()\n",
        encoding="utf-8",
    )
    (found,) = findings_of_run(script)
    assert (found["code"], found["line"], found["column"]) == ("TPL252", 7, 17)
    assert found["verdict"]["reason"] == "20 uploads in 20 of 20 steps"


def test_of_copies_with_one_cause_that_is_told_which_runs(tmp_path):
    """Two batches' copies are one finding: its advice is not that of the line which never ran."""
    script = tmp_path / "train.py"
    script.write_text(
        "import torch\nfrom torch.utils.data import DataLoader, TensorDataset\n"
        "loader = DataLoader(TensorDataset(torch.randn(32, 4)), batch_size=4)\n"
        "m = torch.nn.Linear(4, 4).cuda()\no = torch.optim.SGD(m.parameters(), 0.1)\n"
        "for data in loader:\n    if len(data) > 1:\n        more = data[1].half()\n        more = more.cuda()\n"
        "    data = data[0]\n    data = data.cuda()\n    o.zero_grad()\n    m(data).sum().backward()\n    o.step()\n",
        encoding="utf-8",
    )
    (found,) = findings_of_run(script)
    assert (found["code"], found["line"]) == ("TPL201", 11)
    assert found["verdict"]["reason"] == "8 blocking copies to the device in 8 of 8 steps"
    assert "half" not in found["instead"]
    assert [one["line"] for one in found["related"] if one["line"] != 3] == [9]


def test_a_new_pass_for_each_batch_is_that_of_the_line_that_begins_it(tmp_path):
    body = (
        "        x, = next(iter(loader))\n        o.zero_grad()\n        m(x.cuda()).sum().backward()\n"
        "        o.step()\n"
    )
    script = tmp_path / "train.py"
    script.write_text(
        "import torch\nfrom torch.utils.data import DataLoader, TensorDataset\n"
        "m = torch.nn.Linear(4, 4).cuda()\no = torch.optim.SGD(m.parameters(), 0.1)\n"
        f"def fit(loader):\n    for i in range(10):\n{body}def fit_more(loader):\n    for i in range(10):\n{body}"
        "loader = DataLoader(TensorDataset(torch.randn(12, 4)), batch_size=4)\nfit(loader)\n"
        "if torch.rand(()) > 2:\n    fit_more(loader)\n",
        encoding="utf-8",
    )
    told = {one["line"]: one["verdict"] for one in findings_of_run(script) if one["code"] == "TPL306"}
    assert told[7]["reason"] == "10 passes over the loader for 10 batches"
    assert told[13]["outcome"] in ("not-reached", "unobservable")


def findings_of_run(script, *more):
    """What a simulated run of a script says, with no settings but those given."""
    report = script.parent / "run.json"
    options = ["--runtime", "--isolated", "--simulate", "--output-format", "json", "--output-file", str(report), *more]
    command = [sys.executable, "-m", "torchperf_lint", *options, script.name]
    subprocess.run(command, cwd=script.parent, env={**ENVIRONMENT, **UNCOMPILED}, check=True)
    return json.loads(report.read_text(encoding="utf-8"))["findings"]


def test_what_is_only_possible_is_shown_where_the_run_confirms_it(tmp_path):
    """Fewer than half of the calls in sight of `largest` run every step; of `spread`, the one that does not run."""
    others = "".join(f"def other{n}(x):\n    return largest(x), spread(x)\n" for n in range(3))
    script = tmp_path / "train.py"
    script.write_text(
        "import torch\ndef largest(x):\n    return x.max().item()\ndef spread(x):\n    return x.std().item()\n"
        "def watched(x):\n    return largest(x)\ndef unwatched(x):\n    return spread(x)\n"
        f"{others}m = torch.nn.Linear(4, 4).cuda()\no = torch.optim.SGD(m.parameters(), 0.1)\n"
        "for i in range(20):\n    x = torch.ones(4, device='cuda')\n    y = m(x)\n    watched(y)\n"
        "    if i > 100:\n        unwatched(y)\n    o.zero_grad()\n    y.sum().backward()\n    o.step()\n",
        encoding="utf-8",
    )
    (found,) = findings_of_run(script)
    assert (found["code"], found["line"], found["confidence"]) == ("TPL101", 3, "possible")
    assert found["verdict"]["outcome"] == "confirmed"
    assert findings_of_run(script, "--confidence", "certain") == []
    assert len(findings_of_run(script, "--confidence", "possible")) == 2
