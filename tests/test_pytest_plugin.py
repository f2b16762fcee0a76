"""The plugin in runs of pytest of its own: the simulated device is for a whole process."""

import os
import re
import subprocess
import sys
import textwrap

import pytest
from fake_rules import ENVIRONMENT, UNCOMPILED

STEP = """
import pytest
import torch

@pytest.fixture
def step():
    model = torch.nn.Linear(4, 1).cuda()
    x = torch.ones(8, 4, device="cuda")
    x.sum().item()

    def step():
        loss = model(x).mean()
        loss.backward()
        return loss.item()

    return step
"""
"""A fixture that waits while it is set up; each step waits once, at line 14."""


def pytest_run(directory, code, *options, first=None, **files):
    """(outcomes, all output) of a run over one test file, with the plugin loaded as its entry point would be."""
    for name, text in {"test_it.py": code, **files}.items():
        (directory / name.replace("_ini", ".ini").replace("_py", ".py")).write_text(textwrap.dedent(text))
    paths = [*([str(first)] if first else []), ENVIRONMENT["PYTHONPATH"]]
    environment = {
        **ENVIRONMENT,
        **UNCOMPILED,
        "PYTHONPATH": os.pathsep.join(paths),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "OMP_NUM_THREADS": "1",
    }
    plugin = ("-p", "torchperf_lint.adapters.pytest_plugin", "-p", "no:cacheprovider")
    command = [sys.executable, "-m", "pytest", *plugin, "--strict-markers", "-ra", "--color=no", *options]
    done = subprocess.run(
        command, cwd=directory, env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    outcomes = {word: int(number) for number, word in re.findall(r"(\d+) (\w+)", done.stdout.splitlines()[-1])}
    outcomes.pop("in", None)
    return outcomes, done.stdout + done.stderr


@pytest.fixture
def simulated(tmp_path):
    pytest.importorskip("torch")
    return lambda code, *options, **files: pytest_run(tmp_path, STEP + code, "--torchperf-simulate", *options, **files)


def test_the_marker_counts_in_the_test_and_names_the_lines(simulated):
    code = """
@pytest.mark.max_syncs(1)
def test_passes(step):
    step()

@pytest.mark.max_syncs(n=1)
def test_fails(step):
    step()
    step()
"""
    outcomes, output = simulated(code)
    assert outcomes == {"passed": 1, "failed": 1}, output
    assert (
        """
2 synchronisations with the simulated device where at most 1 is allowed:
  test_it.py:14: twice, item
    return loss.item()
"""
        in output
    )
    assert "pytest_plugin.py" not in output


def test_the_fixture_guards_a_block_and_shows_it(simulated):
    code = """
def test_passes(step, max_syncs):
    step()
    with max_syncs(1):
        step()

def test_fails(step, max_syncs):
    with max_syncs(0):
        step()
"""
    outcomes, output = simulated(code)
    assert outcomes == {"passed": 1, "failed": 1}, output
    assert ">       with max_syncs(0):" in output
    assert "E         test_it.py:14: once, item" in output
    assert "guarding.py" not in output


def test_a_tests_own_failure_is_shown_as_it_is(simulated):
    code = """
@pytest.mark.max_syncs(0)
def test_fails(step):
    step()
    assert 1 == 2

@pytest.mark.max_syncs(0)
def test_skips(step):
    step()
    pytest.skip("own reason")
"""
    outcomes, output = simulated(code)
    assert outcomes == {"failed": 1, "skipped": 1}, output
    assert "assert 1 == 2" in output
    assert "own reason" in output
    assert "synchronisation" not in output


def test_classes_modules_and_unittest_may_be_marked(simulated):
    code = """
import unittest
pytestmark = pytest.mark.max_syncs(0)

class TestStep:
    @pytest.mark.max_syncs(1)
    def test_closest(self, step):
        step()

class TestCase(unittest.TestCase):
    def test_method(self):
        torch.ones(2, device="cuda").sum().item()
"""
    outcomes, output = simulated(code)
    assert outcomes == {"passed": 1, "failed": 1}, output
    assert "test_it.py:28: once, item" in output


def test_the_configuration_file_and_conftest_get_the_device_as_well(tmp_path):
    pytest.importorskip("torch")
    conftest = "import torch\nDEVICE = 'cuda' if torch.cuda.is_available() else 'cpu'\n"
    code = """
    import pytest
    from conftest import DEVICE

    @pytest.mark.max_syncs(0)
    def test_device():
        assert DEVICE == "cuda"
    """
    ini = "[pytest]\ntorchperf_simulate = true\n"
    outcomes, output = pytest_run(tmp_path, code, conftest_py=conftest, pytest_ini=ini)
    assert outcomes == {"passed": 1}, output


@pytest.mark.parametrize("arguments", ["", "(-1)", "('1')", "(True)", "(1, 2)", "(at_most=1)"])
def test_a_wrong_marker_is_an_error_with_or_without_a_device(tmp_path, arguments):
    code = f"""
    import pytest

    @pytest.mark.max_syncs{arguments}
    def test_it():
        pass
    """
    outcomes, output = pytest_run(tmp_path, code)
    assert outcomes == {"error": 1}, output
    assert "@pytest.mark.max_syncs(n) takes one whole number of at least 0" in output


UNSEEN = """
import pytest

@pytest.fixture
def device():
    raise RuntimeError("asked for a device")

@pytest.mark.max_syncs(0)
def test_marked(device):
    pass

def test_fixture(device, max_syncs):
    pass
"""


def test_where_nothing_can_see_tests_are_skipped_before_they_ask_for_a_device(tmp_path):
    torch = pytest.importorskip("torch")
    if torch.cuda.is_available():
        pytest.skip("there is a CUDA device")
    outcomes, output = pytest_run(tmp_path, UNSEEN)
    assert outcomes == {"skipped": 2}, output
    assert "max_syncs: torch" in output
    assert "--torchperf-simulate" in output


def test_a_simulation_that_fails_is_the_reason(tmp_path):
    torch = pytest.importorskip("torch")
    if torch.cuda.is_available():
        pytest.skip("there is a CUDA device")
    conftest = """
    from torchperf_lint.runtime import simulated

    def install(sink):
        raise simulated.UnavailableError("injected")

    simulated.install = install
    import torch
    """
    outcomes, output = pytest_run(tmp_path, UNSEEN, "--torchperf-simulate", conftest_py=conftest)
    assert outcomes == {"skipped": 2}, output
    assert "max_syncs: no device can be simulated: injected" in output


@pytest.mark.parametrize("options", [(), ("--torchperf-simulate",)], ids=["plain", "simulate"])
def test_torch_is_not_imported_unless_a_test_asks(tmp_path, options):
    poisoned = tmp_path / "poisoned"
    for name in ("torch", "libcst", "rich", "numpy"):
        (poisoned / name).mkdir(parents=True)
        (poisoned / name / "__init__.py").write_text(f"raise RuntimeError('{name} was imported')\n")
    code = """
    import sys

    def test_nothing():
        ours = {name for name in sys.modules if name.startswith("torchperf_lint")}
        assert ours <= {"torchperf_lint", "torchperf_lint.adapters", "torchperf_lint.adapters.pytest_plugin",
                        "torchperf_lint.runtime", "torchperf_lint.runtime.imports"}
    """
    outcomes, output = pytest_run(tmp_path, code, *options, first=poisoned)
    assert outcomes == {"passed": 1}, output


def test_where_torch_is_missing_the_reason_says_so(tmp_path):
    missing = tmp_path / "missing"
    missing.mkdir()
    (missing / "torch.py").write_text("raise ImportError('no torch here')\n")
    outcomes, output = pytest_run(tmp_path, UNSEEN, first=missing)
    assert outcomes == {"skipped": 2}, output
    assert "max_syncs: torch cannot be imported: no torch here" in output
