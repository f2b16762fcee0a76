"""The split of the command line, what is refused before anything starts, and what the child is told."""

import json
import os
import stat
import sys

import pytest

from torchperf_lint.errors import UsageError
from torchperf_lint.runtime.request import STARTUP, VARIABLE, Request, Target, own_flags, ranks, split


@pytest.mark.parametrize(
    ("words", "ours", "target"),
    [
        ("--runtime train.py", "--runtime", Target("train.py", False)),
        (
            "--runtime --simulate train.py --steps 3",
            "--runtime --simulate",
            Target("train.py", False, ("--steps", "3")),
        ),
        ("--runtime --steps 3 train.py", "--runtime --steps 3", Target("train.py", False)),
        ("--runtime --steps=3 train.py --", "--runtime --steps=3", Target("train.py", False, ("--",))),
        ("--steps 3 --runtime -m pkg.train -m x", "--steps 3 --runtime", Target("pkg.train", True, ("-m", "x"))),
        ("--runtime -mpkg a", "--runtime", Target("pkg", True, ("a",))),
        ("--runtime -- train.py a", "--runtime", Target("train.py", False, ("a",))),
        ("--runtime -- -m a", "--runtime", Target("-m", False, ("a",))),
        ("--runtime --steps -m train.py", "--runtime --steps -m", Target("train.py", False)),
        ("--runtime --steps -- -m a", "--runtime --steps --", Target("a", True)),
        ("--runtime --monitor train.py", "--runtime --monitor", Target("train.py", False)),
        ("--runtime", "--runtime", None),
        ("--runtime --", "--runtime", None),
        ("--runtime --steps", "--runtime --steps", None),
    ],
)
def test_our_options_end_where_the_script_starts(words, ours, target):
    assert split(words.split(), {"--steps"}) == (ours.split(), target)


def test_empty_words_and_spaces_stay_as_they_are():
    assert split(["--runtime", "my script.py", "", "a b"], ()) == (
        ["--runtime"],
        Target("my script.py", False, ("", "a b")),
    )


@pytest.mark.parametrize("words", ["--runtime -m", "--runtime -m --lr", "-m -m x"])
def test_m_needs_a_module(words):
    with pytest.raises(UsageError, match="-m needs the name"):
        split(words.split(), ())


@pytest.mark.parametrize("words", [["-"], ["--runtime", "--", "-", "x"]])
def test_a_script_on_standard_input_is_refused_with_the_reason(words):
    with pytest.raises(UsageError, match="its lines are in no file"):
        split(words, ())


@pytest.mark.parametrize(
    ("original", "flags"),
    [
        ("python train.py", ""),
        ("python -u -m torchperf_lint --runtime -W x", "-u"),
        ("python -um torchperf_lint -B", "-u"),
        ("python -mtorchperf_lint -u", ""),
        ("python -W error -X dev -Xutf8 drive.py -u", "-W error -X dev -Xutf8"),
        ("python -Wmodule -OO x.py", "-Wmodule -OO"),
        ("python -uW module x.py", "-uW module"),
        ("python -uWdefault x.py -X", "-uWdefault"),
        ("python --check-hash-based-pycs always -s x.py", "--check-hash-based-pycs always -s"),
        ("python -u -- -x.py", "-u"),
        ("python -c code -u", ""),
        ("python", ""),
        ("", ""),
    ],
)
def test_our_interpreters_flags_are_read_as_typed(original, flags):
    assert own_flags(original.split()) == tuple(flags.split())


def test_a_script_whose_name_starts_with_a_dash_is_no_flag():
    request = Request(Target("-u.py", False, ("-x",)), "/x.events.jsonl", ("-B",))
    assert request.command() == [sys.executable, "-B", "--", "-u.py", "-x"]


def check(name, events):
    Request(Target(str(name), False), str(events)).check()


def test_what_cannot_run_is_refused_before_anything_starts(tmp_path):
    events = tmp_path / "run.events.jsonl"
    with pytest.raises(UsageError, match="no such file"):
        check(tmp_path / "none.py", events)
    with pytest.raises(UsageError, match=r"without a __main__\.py"):
        check(tmp_path, events)
    (tmp_path / "__main__.py").touch()
    check(tmp_path, events)
    for name in (tmp_path / "run.jsonl", "run.events.jsonl", tmp_path / "none" / "run.events.jsonl"):
        with pytest.raises(UsageError, match="events file"):
            check(tmp_path, name)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_an_unreadable_script_is_refused(tmp_path):
    script = tmp_path / "secret.py"
    script.touch(mode=stat.S_IWUSR)
    with pytest.raises(UsageError, match="not readable"):
        check(script, tmp_path / "run.events.jsonl")


def test_a_script_that_cannot_be_read_is_refused_whoever_we_are(tmp_path, monkeypatch):
    script = tmp_path / "secret.py"
    script.touch()
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.R_OK)
    with pytest.raises(UsageError, match="not readable"):
        check(script, tmp_path / "run.events.jsonl")


def test_a_platform_without_posix_spawn_is_refused(tmp_path, monkeypatch):
    monkeypatch.delattr(os, "posix_spawn")
    with pytest.raises(UsageError, match="POSIX"):
        check(tmp_path, tmp_path / "run.events.jsonl")


def told(inherited, **options):
    return Request(Target("x.py", False), "/x.events.jsonl", **options).environment(inherited)


def test_the_child_is_told_what_to_record():
    environment = told({"HOME": "/h"}, simulate=True, steps=5, rank=1, world=2, project_root="/p")
    assert json.loads(environment.pop(VARIABLE)) == {
        "version": 1,
        "events": "/x.events.jsonl",
        "owner_pid": os.getpid(),
        "simulate": True,
        "warmup": 10,
        "window": 8,
        "steps": 5,
        "project_root": "/p",
        "rank": 1,
        "world": 2,
    }
    assert environment == {"HOME": "/h", "PYTHONPATH": str(STARTUP)}


@pytest.mark.parametrize(
    ("inherited", "expected"),
    [("", ""), ("a", ":a"), ("a:", ":a:"), (":", "::"), (f"{STARTUP}", ""), (f"{STARTUP}:a", ":a")],
)
def test_our_directory_stands_first_once_and_adds_no_empty_entry(inherited, expected):
    assert told({"PYTHONPATH": inherited})["PYTHONPATH"] == f"{STARTUP}{expected}".replace(":", os.pathsep)


def test_ranks_come_from_the_launchers_variables():
    assert ranks({"RANK": "1", "WORLD_SIZE": "2"}) == (1, 2)
    assert ranks({}) == (None, None)
    assert ranks({"RANK": "", "WORLD_SIZE": "two"}) == (None, None)
