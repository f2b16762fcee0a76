"""The flake8 plugin: flake8's options to Settings, its lines to a Target, findings to what it prints.

flake8 runs a file at a time, in several processes; facts still come from the file's whole project. What the
plugin cannot do it logs: an exception that left it would end the user's whole run.
"""

from __future__ import annotations

import argparse
import logging
import os.path
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import ClassVar, Protocol

from torchperf_lint import __version__, catalog
from torchperf_lint.errors import CannotCheck, TorchPerfError
from torchperf_lint.facts.syntax.text import read
from torchperf_lint.model import Finding, Report
from torchperf_lint.options import BY_NAME
from torchperf_lint.paths import Homes
from torchperf_lint.settings import shown

ENTRY = "TPL"
"""The name of the entry point; every code begins with it."""
OPTIONS = ("confidence", "severity", "target-torch")
"""The settings that flake8 takes as `--torchperf-...` and in its configuration file."""
STDIN = "-"

_log = logging.getLogger(__name__)
Violation = tuple[int, int, str, type]


class _Options(Protocol):
    """The part of flake8's option manager that is needed here."""

    def add_option(self, name: str, /, **settings: object) -> None:
        """Register an option."""


class Plugin:
    """What flake8 makes for each file; the parameters' names say what it passes."""

    name = "torchperf-lint"
    version = __version__
    _host: ClassVar[Host | None] = None

    def __init__(self, tree: object, filename: str, lines: list[str]) -> None:
        del tree  # flake8 tells plugins for files from those for lines by this parameter
        self._filename = filename
        self._text = "".join(lines)

    @staticmethod
    def add_options(manager: _Options) -> None:
        """Register our options, for the command line and for flake8's configuration file."""
        for name in OPTIONS:
            option = BY_NAME[name]
            manager.add_option(
                f"--torchperf-{name}",
                default=None,
                parse_from_config=True,
                type=_checked(name),
                metavar=option.metavar,
                help=f"torchperf-lint: {option.help}",
            )

    @classmethod
    def parse_options(cls, options: argparse.Namespace) -> None:
        """Keep flake8's options; called once in every process."""
        cls._host = Host(options)

    def run(self) -> Iterator[Violation]:
        """Yield what flake8 prints: 1-based line, 0-based column, text. Never raises."""
        try:
            found = list(self._violations())
        except TorchPerfError as error:
            _log_once(str(error))
        except Exception:  # noqa: BLE001 -- the border to flake8
            _log.warning("torchperf-lint could not check %s", self._filename, exc_info=True)
        else:
            yield from found

    def _violations(self) -> Iterator[Violation]:
        if self._host is None:
            return
        for finding in self._host.findings(self._filename, self._text):
            text = " ".join(finding.message.split())
            yield finding.location.line, finding.location.column - 1, f"{finding.code} {text}", type(self)


class Host:
    """One run of flake8, as its options describe it."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options
        self._cwd = Path.cwd()
        self._named = [self._absolute(name) for name in options.filenames or ["."]]
        self._homes: Homes | None = None

    def findings(self, filename: str, text: str) -> Iterable[Finding]:
        """Findings in one file, whose text is given.

        Raises ConfigError for a configuration file of ours that cannot be used.
        """
        if not self._wants_us():
            return ()
        path = self._absolute(filename)
        if self._homes is None:
            self._homes = Homes(self._overrides(), _is_isolated(self._options), None, self._cwd)
        if not self._is_asked_for(path, self._homes):
            return ()
        report = self._lint(path, text, self._homes)
        for problem in report.problems:
            if problem.path == shown(path, self._cwd):
                _log_once(f"{problem.path}: {problem.rule or 'could not be checked'}: {problem.reason}")
        return report.findings

    def _lint(self, path: Path, text: str, homes: Homes) -> Report:
        from torchperf_lint.lint import Target, lint  # libcst only once there is work

        home = homes.of(path)
        target = Target(home.root, home.settings, (path,), self._buffer(path, text))
        return lint(target, honour_suppressions=not self._options.disable_noqa, reuse=True)

    def _buffer(self, path: Path, text: str) -> dict[Path, str]:
        """flake8's text where it stands in for what is on disk.

        flake8 turns every newline into one character; taking that for a change would open the project anew for
        each file with Windows newlines. What our command line refuses to read is refused here too.
        """
        if STDIN not in self._options.filenames:
            try:
                on_disk = read(path)
            except CannotCheck:
                return {}
            if on_disk.replace("\r\n", "\n").replace("\r", "\n") == text:
                return {}
        return {path: text}

    def _absolute(self, name: str) -> Path:
        return Path(os.path.abspath(self._cwd / name))  # noqa: PTH100 -- Path.resolve would follow links

    def _wants_us(self) -> bool:
        """Whether flake8 would show any code of ours."""
        chosen = self._options.select
        return chosen is None or bool(_selectors([*chosen, *(self._options.extend_select or ())]))

    def _overrides(self) -> dict[str, object]:
        """What flake8's flags and file say about our settings; None where they say nothing.

        Selection is passed on although flake8 selects again, for what depends on it here: rules that are off by
        default, findings merged into one, and unused suppressions.
        """
        overrides: dict[str, object] = {"jobs": 1}  # flake8's own processes may not start any
        for field in ("select", "ignore", "extend_select", "extend_ignore"):
            overrides[field] = _selectors(getattr(self._options, field) or ()) or None
        for name in OPTIONS:
            field = BY_NAME[name].field
            overrides[field] = getattr(self._options, f"torchperf_{field}")
        return overrides

    def _is_asked_for(self, path: Path, homes: Homes) -> bool:
        """Whether our command line, given the paths flake8 was given, would read this one of the files they hold."""
        if homes.of(path).settings.force_exclude and homes.leaves_out(path):
            return False
        if path in self._named or STDIN in self._options.filenames:
            return True
        return any(path.is_relative_to(given) and _is_walked(path, given, homes) for given in self._named)


def _is_walked(path: Path, given: Path, homes: Homes) -> bool:
    skips_too = not homes.skips(given, given)
    way = [path, *path.parents]
    return not any(
        homes.excludes(part, given) or (skips_too and homes.skips(part, given)) for part in way[: way.index(given)]
    )


def _selectors(chosen: Iterable[str]) -> list[str]:
    """Those of flake8's codes and prefixes that are about us, as ours; unknown codes are flake8's to judge."""
    known = (ENTRY if ENTRY.startswith(code) else code for code in chosen)
    return [code for code in known if catalog.is_selector(code) and code != "ALL"]


def _is_isolated(options: argparse.Namespace) -> bool:
    """Whether flake8 runs with --isolated.

    flake8 takes the flag out of the arguments before it makes `options`, where it always reads false.
    """
    arguments = sys.argv[1:]
    flags = arguments[: arguments.index("--")] if "--" in arguments else arguments
    abbreviated = any(len(flag) > len("--") and "--isolated".startswith(flag) for flag in flags)
    return abbreviated or bool(getattr(options, "isolated", False))


@cache
def _log_once(message: str) -> None:
    _log.warning("torchperf-lint: %s", message)


def _checked(name: str) -> Callable[[str], str]:
    """Checks an option's value the way our own command line does, and keeps it as typed."""
    read = BY_NAME[name].read

    def check(value: str) -> str:
        try:
            read(value)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None
        return value

    return check
