"""What scripts rely on besides numbers: each check of checks_*.py, run in one process where warnings are errors."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))
from builders import ENVIRONMENT

pytest.importorskip("torch", reason="the simulated device needs torch")

HERE = Path(__file__).parent
TEXTS = [path.read_text(encoding="utf-8") for path in sorted(HERE.glob("checks_*.py"))]
CHECKS = re.findall(r"^def (check_\w+)", "\n".join(TEXTS), re.M)


def python(*arguments: str) -> subprocess.CompletedProcess:
    command = [sys.executable, "-W", "error", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=180, env=ENVIRONMENT, check=False)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    out = tmp_path_factory.mktemp("behaviour") / "results.json"
    done = python(str(HERE / "behaviour.py"), str(out))
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(out.read_text(encoding="utf-8"))


@pytest.mark.parametrize("check", CHECKS)
def test_behaviour(results, check):
    assert results[check] is None, results[check]


REFUSALS = {
    "torch too old": ("del torch._C._acc", 1, "cannot host a backend"),
    "backend taken": ("torch.utils.rename_privateuse1_backend('other')", 1, "taken by another"),
    "two devices": ("pass", 2, "there can be one"),
}


@pytest.mark.parametrize("reason", REFUSALS)
def test_a_refusal_says_why_and_leaves_torch_alone(reason):
    before, devices, message = REFUSALS[reason]
    script = f"""
import torch
from torchperf_lint.runtime import simulated
{before}
to, zeros = torch.Tensor.to, torch.zeros
try:
    simulated.install(None, devices={devices})
except simulated.UnavailableError as error:
    print(error)
assert torch.Tensor.to is to and torch.zeros is zeros and not torch.cuda.is_available()
"""
    done = python("-c", script)
    assert done.returncode == 0, done.stderr
    assert message in done.stdout


def test_an_optimizer_is_made_after_the_default_type_of_old_has_been_set():
    """It imports Dynamo, which holds the signature of what makes a tensor against its own."""
    script = """
import torch
from torchperf_lint.runtime import simulated
simulated.install(None)
torch.set_default_tensor_type("torch.cuda.FloatTensor")
optimizer = torch.optim.SGD(torch.nn.Linear(4, 4).parameters(), lr=0.1)
print(torch.Tensor([1.0]).device, torch.nn.Parameter(torch.ones(2)).device)
"""
    done = python("-c", script)
    assert (done.returncode, done.stdout) == (0, "cuda:0 cuda:0\n"), done.stderr[-2000:]
