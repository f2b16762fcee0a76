"""`no_syncs()` on a card: it hears what waits, names the line, and leaves what does not wait alone."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.gpu

SCRIPT = """
import torch
from torchperf_lint import SyncsFoundError, no_syncs

x = torch.ones(4, 4, device="cuda")
with no_syncs():
    y = (x @ x).sum()
    del x
print("silent")
try:
    with no_syncs():
        for _ in range(3):
            y.item()
except SyncsFoundError as error:
    print(error)
try:
    with no_syncs():
        torch.mm(torch.ones(2, 3, device="cuda") + 1, torch.ones(2, 3, device="cuda") * 2)
except Exception as error:
    print(type(error).__name__)
"""


def test_it_hears_the_read_and_nothing_else(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT, encoding="utf-8")
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    first, *found, last = done.stdout.splitlines()
    assert (first, last) == ("silent", "RuntimeError")
    assert any("script.py:13" in line for line in found)
