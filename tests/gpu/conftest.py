"""Tests that need a card are skipped where there is none; what the card was asked is asked once."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from card import has_device  # noqa: E402


@pytest.fixture(autouse=True)
def device(request):
    """Skips a test marked `gpu` where it cannot run."""
    if request.node.get_closest_marker("gpu") and not has_device():
        pytest.skip("needs a CUDA device")


@pytest.fixture(scope="session")
def facts(tmp_path_factory):
    """What facts.py found on this machine; TORCHPERF_GPU_FACTS names a file that has it already."""
    known = os.environ.get("TORCHPERF_GPU_FACTS")
    if known:
        return json.loads(Path(known).read_text(encoding="utf-8"))
    if not has_device():
        pytest.skip("needs a CUDA device")
    out = tmp_path_factory.mktemp("facts") / "facts.json"
    command = [sys.executable, str(HERE / "facts.py"), str(out)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert out.exists(), done.stderr[-3000:]
    return json.loads(out.read_text(encoding="utf-8"))
