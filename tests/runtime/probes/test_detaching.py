"""Kineto is asked to take CUPTI off the process, and waited for; the environment is as it was."""

import os
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from torchperf_lint.runtime.probes import _detaching

SWITCH = "TEARDOWN_CUPTI"
pytestmark = pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="the kernel does not list threads here")


class Device:
    """A torch with a stream; calls of the stream let the thread that removes CUPTI go on, as CUDA's runtime does."""

    def __init__(self, cuda):
        self.version = SimpleNamespace(cuda=cuda)
        self.cuda = SimpleNamespace(current_stream=lambda: self)
        self.queries = 0
        self.called = threading.Event()

    def query(self):
        self.queries += 1
        self.called.set()


@pytest.fixture(autouse=True)
def unset(monkeypatch):
    monkeypatch.delenv(SWITCH, raising=False)


def removed_by(device, calls=3):
    """What Kineto's thread does: it ends once so many calls have come."""

    def remove():
        while device.queries < calls:
            device.called.wait(1)
            device.called.clear()

    thread = threading.Thread(target=remove)
    thread.start()
    return thread


def test_it_is_asked_for_and_waited_for():
    device = Device("13.0")
    with _detaching.detaching(device):
        assert os.environ[SWITCH] == "1"
        thread = removed_by(device)
    thread.join(1)
    assert not thread.is_alive()
    assert device.queries >= 3
    assert SWITCH not in os.environ


def test_one_that_does_not_come_is_not_waited_for_for_ever(monkeypatch):
    monkeypatch.setattr(_detaching, "_PATIENCE_S", 0.02)
    device, over = Device("12.6"), threading.Event()
    thread = threading.Thread(target=over.wait)
    began = time.perf_counter()
    with _detaching.detaching(device):
        thread.start()
    assert 0.02 <= time.perf_counter() - began < 5
    over.set()
    thread.join()


@pytest.mark.parametrize("cuda", ["12.4", "11.8", None, "", "rocm"])
def test_older_ones_keep_it_for_the_sake_of_graphs(cuda):
    with _detaching.detaching(Device(cuda)):
        assert SWITCH not in os.environ


@pytest.mark.parametrize("choice", ["0", "1"])
def test_a_scripts_own_choice_stays(monkeypatch, choice):
    monkeypatch.setenv(SWITCH, choice)
    device = Device("13.0")
    with _detaching.detaching(device):
        assert os.environ[SWITCH] == choice
    assert os.environ[SWITCH] == choice
    assert device.queries == 0


def test_the_environment_is_put_back_where_ending_fails():
    with pytest.raises(ValueError, match="ended"), _detaching.detaching(Device("13.0")):
        raise ValueError("ended")
    assert SWITCH not in os.environ


def test_it_is_not_taken_off_where_the_run_ends(monkeypatch):
    """`end()` alone: the process is about to end, and nobody gains by it."""
    from torchperf_lint.runtime.probes import _kineto

    asked = []
    monkeypatch.setattr(_kineto, "detaching", asked.append)
    torch = SimpleNamespace(
        autograd=SimpleNamespace(
            profiler=None,
            _disable_profiler=lambda: None,
            _record_function_with_args_enter=None,
            _record_function_with_args_exit=None,
        )
    )
    assert _kineto.Kineto(torch, on_device=True).end() == []
    assert asked == []
