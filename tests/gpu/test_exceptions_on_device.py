"""An exception that is on its way while tensors are freed arrives as it would without us."""

import subprocess
import sys
from pathlib import Path

import pytest

from torchperf_lint.events import read

pytestmark = pytest.mark.gpu
SCRIPT = Path(__file__).with_name("raising.py")


def output(*command):
    done = subprocess.run([sys.executable, *command], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def test_the_script_sees_what_it_would_see_alone(tmp_path):
    record = tmp_path / "run.events.jsonl"
    watched = output("-m", "torchperf_lint", "--runtime", "--isolated", "--events", str(record), str(SCRIPT))
    assert watched == output(str(SCRIPT))
    line = next(n for n, text in enumerate(SCRIPT.read_text().splitlines(), 1) if "total += torch.ones" in text)
    run = read(str(record))
    waits = [
        run.counts[number]["n"]
        for number, event in run.events.items()
        if event["kind"] == "sync" and run.sites[event["site"]]["line"] == line
    ]
    assert sum(waits) == 5


def test_steps_end_the_script_as_if_it_had_ended(tmp_path):
    script = tmp_path / "train.py"
    script.write_text(
        "import torch\n"
        "from torch.utils.data import DataLoader\n"
        "if __name__ == '__main__':\n"
        "    model = torch.nn.Linear(64, 64).to('cuda')\n"
        "    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
        "    loader = DataLoader(torch.randn(800, 64), batch_size=8, num_workers=2, pin_memory=True)\n"
        "    for number, batch in enumerate(loader):\n"
        "        model(batch.to('cuda', non_blocking=True)).mean().backward()\n"
        "        optimizer.step()\n",
        encoding="utf-8",
    )
    command = [sys.executable, "-m", "torchperf_lint", "--runtime", "--isolated", "--steps", "20", str(script)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "SystemError" not in done.stderr
