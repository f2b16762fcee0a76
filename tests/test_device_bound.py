"""Records of a device on paper, from activities to the strongest diagnosis: what benchmarks/device_bound.py shows."""

import importlib.util
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "benchmarks" / "device_bound.py"
spec = importlib.util.spec_from_file_location("device_bound", SCRIPT)
device_bound = importlib.util.module_from_spec(spec)
sys.modules["device_bound"] = device_bound
spec.loader.exec_module(device_bound)


@pytest.mark.parametrize("loop", device_bound.LOOPS, ids=lambda loop: loop.right)
def test_the_strongest_diagnosis(loop, tmp_path):
    found = device_bound.diagnosed(loop, tmp_path)["diagnoses"]
    assert found[0]["code"] == loop.right


def test_a_read_is_priced_by_the_bubble_behind_it(tmp_path):
    """3 of its 8 ms a step the host waits, and 4 ms of Python follow: the device idles for no more than the wait.

    The figure is of all 8 steps of the window.
    """
    loop = device_bound.LOOPS[0]
    (site,) = device_bound.diagnosed(loop, tmp_path)["sites"]
    assert (site["line"], site["kind"]) == (30, "sync")
    assert site["bubble_ms"] == pytest.approx(8 * 3.0, rel=0.01)


def test_a_read_of_a_busy_device_costs_nothing(tmp_path):
    (site,) = device_bound.diagnosed(device_bound.LOOPS[3], tmp_path)["sites"]
    assert site["blocked_ms"] > 100
    assert site["bubble_ms"] < 8 * 0.2
