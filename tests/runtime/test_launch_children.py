"""Processes that a watched script starts work as ever, and are watched too."""

import os
import shutil

import pytest
from watching import FIXTURES, Watched, finish, plain


@pytest.fixture
def watched(tmp_path):
    (tmp_path / "record").mkdir()
    for script in FIXTURES.glob("*.py"):
        shutil.copy(script, tmp_path)
    return Watched(tmp_path / "record")


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_a_class_of_main_goes_through_a_pool(method, tmp_path, watched):
    expected = finish(plain("pool.py", method), tmp_path)
    assert expected == (0, b"[Point(1, 2), Point(2, 4), Point(3, 6)]\n", b"")
    assert finish(watched.command("pool.py", method), tmp_path) == expected


@pytest.mark.parametrize("how", ["subprocess", "spawn", "exec", "other_directory"])
def test_a_python_that_the_script_starts_is_watched(how, tmp_path, watched):
    assert finish(plain("starts.py", how), tmp_path) == (0, b"watched: False\n", b"")
    assert finish(watched.command("starts.py", how), tmp_path) == (0, b"watched: True\n", b"")


@pytest.mark.skipif(os.cpu_count() == 1, reason="one core: torch starts one thread whatever it is told")
def test_threads_are_set_before_torch_is_imported(tmp_path, watched):
    done = finish(watched.command("threads.py"), tmp_path)
    assert done == (0, b"torch imported early: False\nthreads: 1\n", b"")
