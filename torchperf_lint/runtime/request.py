"""What to run and how to record it: the split of the command line, the child's command, and what it is told.

Torch-free and light: the parent reads this before anything has started.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from torchperf_lint.errors import UsageError
from torchperf_lint.events import SUFFIX
from torchperf_lint.runtime.placement import placed

VARIABLE = "TORCHPERF_LINT_RUN"
"""The environment variable that tells a watched process what to record; JSON, inherited by what the script starts."""

STARTUP = Path(__file__).resolve().parent / "startup"
"""The directory that stands first on a watched process's PYTHONPATH; it holds our sitecustomize.py alone."""

_ENDS_FLAGS = "mc"
_FLAGS_WITH_VALUE = "WX"


@dataclass(frozen=True)
class Target:
    """What the user wants to have run: a script (file, directory or zip file with a __main__.py) or a module."""

    name: str
    is_module: bool
    arguments: tuple[str, ...] = ()

    def words(self) -> list[str]:
        """What follows `python` and its flags on the command line."""
        if self.is_module:
            return ["-m", self.name, *self.arguments]
        # Python reads a script's name that starts with a dash as a flag unless `--` stands before it.
        return [*(["--"] if self.name.startswith("-") else []), self.name, *self.arguments]


@dataclass(frozen=True)
class Request:
    """One run to start and watch."""

    target: Target
    events: str
    """Absolute path of the events file; ends with SUFFIX."""
    flags: tuple[str, ...] = ()
    """Flags of the child's interpreter, as `own_flags` gives them."""
    simulate: bool = False
    warmup: int = 10
    """Steps at the start that are left out of medians."""
    window: int = 8
    """Steps that a profiler watches; 0: none."""
    steps: int | None = None
    """End the script after this many steps; None lets it run to its end."""
    project_root: str | None = None
    """Absolute path; files below it are the user's own code."""
    rank: int | None = None
    world: int | None = None

    def command(self) -> list[str]:
        """The child's command line: plain Python and the user's script, nothing of ours."""
        return [sys.executable, *self.flags, *self.target.words()]

    def environment(self, inherited: Mapping[str, str]) -> dict[str, str]:
        """The child's environment: `inherited`, our start-up directory before its PYTHONPATH, and what to record."""
        startup = str(STARTUP)
        before = inherited.get("PYTHONPATH")
        # An empty PYTHONPATH means none to Python, while an empty entry in a longer one means the working directory.
        rest = [entry for entry in before.split(os.pathsep) if entry != startup] if before else []
        return {**inherited, "PYTHONPATH": os.pathsep.join([startup, *rest]), VARIABLE: self._told()}

    def _told(self) -> str:
        told = {
            "version": 1,
            "events": self.events,
            "owner_pid": os.getpid(),
            "simulate": self.simulate,
            "warmup": self.warmup,
            "window": self.window,
            "steps": self.steps,
            "project_root": self.project_root,
            "rank": self.rank,
            "world": self.world,
        }
        return json.dumps(told)

    def check(self) -> None:
        """Raises UsageError for what cannot be started or watched, before anything has started."""
        _check_interpreter()
        if not self.target.is_module:
            _check_script(self.target.name)
        if not self.events.endswith(SUFFIX) or not os.path.isabs(self.events):
            raise UsageError(f"the events file must be named *{SUFFIX}, not {self.events}")
        if not os.access(os.path.dirname(self.events), os.W_OK | os.X_OK):
            raise UsageError(f"the events file cannot be written: {os.path.dirname(self.events)} is not writable")


def split(arguments: Sequence[str], takes_value: Collection[str]) -> tuple[list[str], Target | None]:
    """Our own words, and what to run: ours end at the first positional argument, `-m MODULE` or `--`.

    `takes_value` names our options that are followed by a value. The target is None where nothing to run is named.
    Raises UsageError for `-m` without a module, and for a script on standard input.
    """
    waiting = False
    for index, word in enumerate(arguments):
        if waiting:
            waiting = False
        elif word == "--":
            return list(arguments[:index]), _script(arguments[index + 1 :])
        elif word.startswith("-m") and not word.startswith("--"):
            return list(arguments[:index]), _module([*filter(None, [word[2:]]), *arguments[index + 1 :]])
        elif not word.startswith("-") or word == "-":
            return list(arguments[:index]), _script(arguments[index:])
        else:
            waiting = word in takes_value
    return list(arguments), None


def own_flags(original: Sequence[str] = tuple(sys.orig_argv)) -> tuple[str, ...]:
    """The flags our own interpreter was started with (`-u`, `-W error`, `-X dev`, ...), for the child to have too.

    They are read from the command line, since sys.flags lacks some (`-u`) and mixes in what the environment says,
    which the child inherits anyway.
    """
    return tuple(_flags(iter(original[1:])))


def ranks(environment: Mapping[str, str]) -> tuple[int | None, int | None]:
    """(rank, world size) as a launcher such as torchrun set them; None for what is not set or is no number."""
    here = placed(environment)
    return here.rank, here.world


def _flags(words: Iterator[str]) -> Iterator[str]:
    for word in words:
        if not word.startswith("-") or word in ("-", "--"):
            return
        if word == "--check-hash-based-pycs":
            yield from (word, next(words, ""))
            continue
        kept = _before_program(word)
        if len(kept) > 1:
            yield kept
        if kept != word:
            return
        if kept[-1] in _FLAGS_WITH_VALUE and not any(letter in _FLAGS_WITH_VALUE for letter in kept[1:-1]):
            yield next(words, "")


def _before_program(word: str) -> str:
    """`-um` -> `-u`: what stands before the letter that names the program; all of `-Wmodule`, which names none."""
    for index, letter in enumerate(word):
        if letter in _FLAGS_WITH_VALUE:
            break
        if index and letter in _ENDS_FLAGS:
            return word[:index]
    return word


def _module(words: Sequence[str]) -> Target:
    if not words or words[0].startswith("-"):
        raise UsageError("-m needs the name of the module to run")
    return Target(words[0], True, tuple(words[1:]))


def _script(words: Sequence[str]) -> Target | None:
    if not words:
        return None
    if words[0] == "-":
        raise UsageError("a script from standard input cannot be watched: its lines are in no file; save it to one")
    return Target(words[0], False, tuple(words[1:]))


def _check_interpreter() -> None:
    if not sys.executable:
        raise UsageError("--runtime cannot tell which Python to run the script with: sys.executable is empty")
    if not hasattr(os, "posix_spawn"):
        raise UsageError(f"--runtime needs a POSIX system (Linux, macOS, WSL), and this is {sys.platform}")
    refused = {"-I": sys.flags.isolated, "-E": sys.flags.ignore_environment, "-S": sys.flags.no_site}
    for flag, is_set in refused.items():
        if is_set:
            raise UsageError(f"--runtime cannot watch a script under python {flag}, which keeps our start-up hook out")


def _check_script(name: str) -> None:
    if os.path.isdir(name):
        if not any(os.path.isfile(os.path.join(name, main)) for main in ("__main__.py", "__main__.pyc")):
            raise UsageError(f"cannot run {name}: it is a directory without a __main__.py")
    elif not os.path.exists(name):
        raise UsageError(f"cannot run {name}: no such file")
    if not os.access(name, os.R_OK):
        raise UsageError(f"cannot run {name}: it is not readable")
