"""The command line's arguments: those that are settings, and those that only the command has."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import fields
from difflib import get_close_matches
from typing import TYPE_CHECKING, NoReturn

from torchperf_lint.errors import UsageError
from torchperf_lint.options import OPTIONS, Option
from torchperf_lint.reporters import formats
from torchperf_lint.settings import Settings

if TYPE_CHECKING:
    from torchperf_lint.runtime.request import Target

_DESCRIPTION = """\
Finds what makes PyTorch code slow: says why the value is a tensor, why the line is hot, and what to write instead.
PATH is a file or a directory (default: the working directory); - reads standard input."""
_EPILOG = """\
exit code: 0 no error or warning; 1 at least one; 2 wrong usage, or something could not be checked.
settings also stand in [tool.torchperf-lint] of the nearest pyproject.toml, or in torchperf-lint.toml."""


class _Parser(argparse.ArgumentParser):
    """Raises our error, with the nearest option, in place of printing the usage and leaving."""

    def error(self, message: str) -> NoReturn:
        unknown = message.removeprefix("unrecognized arguments: ").split() or [""]
        near = get_close_matches(unknown[0].partition("=")[0], sorted(self._option_string_actions), n=1)
        hint = f"; did you mean {near[0]}?" if near and unknown[0].startswith("-") else ""
        raise UsageError(f"{message}{hint}")


def make_parser() -> argparse.ArgumentParser:
    """The parser; what it fills in for a setting that was not said is None."""
    parser = _Parser(
        prog="torchperf-lint",
        usage="%(prog)s [options] [PATH ...]\n       %(prog)s --runtime [options] SCRIPT|-m MODULE [ARGUMENTS ...]",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("paths", nargs="*", metavar="PATH", help="what to check")
    settings = parser.add_argument_group("settings")
    defaults = {field.name: field.default for field in fields(Settings)}
    for option in OPTIONS:
        _add_setting(settings, option, defaults[option.field])
    _add_input(parser.add_argument_group("input"))
    _add_output(parser.add_argument_group("output"))
    _add_changes(parser.add_argument_group("changes to files"))
    _add_questions(parser.add_argument_group("questions"))
    _add_runtime(parser.add_argument_group("runtime"))
    return parser


def parse(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> argparse.Namespace:
    """Options may stand before, between and after paths; what follows `--` is a path whatever it looks like."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    # Its reason follows an equals sign: the next word is a path.
    given = ["--add-noqa=" if word == "--add-noqa" else word for word in arguments[:end]]
    options = parser.parse_intermixed_args(given)
    options.paths = [*options.paths, *arguments[end + 1 :]]
    _check_runtime(options)
    _check_fixing(options)
    return options


_ONLY_RUNTIME = ("simulate", "steps", "warmup", "window", "events", "lint")
_ONLY_RUNS = ("html", "trace")
_ONLY_STATIC = ("fix", "unsafe_fixes", "show_fixes", "diff")


def _check_fixing(options: argparse.Namespace) -> None:
    if options.runtime or options.report:
        for name in _ONLY_STATIC:
            if getattr(options, name):
                raise UsageError(f"--{name.replace('_', '-')}: cannot be used with --runtime or --report")
    if options.add_noqa is None:
        return
    if options.runtime or options.report or options.fix or options.diff:
        raise UsageError("--add-noqa: cannot be used with --fix, --diff, --runtime or --report")
    if not options.add_noqa.isprintable():
        raise UsageError("--add-noqa: the reason must be one line of text")


def _check_runtime(options: argparse.Namespace) -> None:
    if options.compare is not None and not options.report:
        raise UsageError("--compare: only with --report")
    if not options.runtime:
        for name in _ONLY_RUNTIME:
            if getattr(options, name):
                raise UsageError(f"--{name}: only with --runtime")
        if options.fail_on_confirmed and not options.report:
            raise UsageError("--fail-on-confirmed: only with --runtime or --report")
        for name in _ONLY_RUNS:
            if getattr(options, name) is not None and not options.report:
                raise UsageError(f"--{name}: only with --runtime or --report")
        return
    if options.paths:
        raise UsageError("--runtime: stands before the script, as in `torchperf-lint --runtime train.py`")
    if options.report:
        raise UsageError("--report: cannot be used with --runtime")
    if options.output_format != "full" and options.output_file is None:
        raise UsageError(
            f"--output-format {options.output_format}: needs --output-file with --runtime, where the script owns "
            "standard output"
        )


def _add_setting(group: argparse._ArgumentGroup, option: Option, default: object) -> None:
    name = f"--{option.name}"
    if option.negatable:
        group.add_argument(name, action=argparse.BooleanOptionalAction, help=option.help)
        return
    if not option.metavar:
        group.add_argument(name, action="store_const", const=True, help=option.help)
        return
    metavar = "|".join(option.choices) or option.metavar
    said = f" (default: {default})" if option.choices else ""
    action = "append" if option.many else "store"
    group.add_argument(name, action=action, metavar=metavar, help=option.help + said)


def _add_input(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--isolated", action="store_true", help="read no configuration file")
    group.add_argument("--config", metavar="FILE", help="read this configuration file, for every project")
    group.add_argument("--stdin-filename", metavar="FILE", help="what standard input is called, for its settings")


def _add_output(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--output-format", choices=formats(), default="full", metavar="|".join(formats()))
    group.add_argument("--output-file", metavar="FILE", help="write the report to a file")
    group.add_argument("--statistics", action="store_true", help="count findings per rule in place of showing them")
    group.add_argument("--timings", action="store_true", help="tell on standard error where the time went")
    group.add_argument("--exit-zero", action="store_true", help="exit 0 even with findings")
    group.add_argument("--color", choices=("auto", "always", "never"), default="auto", metavar="auto|always|never")
    group.add_argument("--quiet", "-q", action="store_true", help="print findings only, no closing line")


def _add_changes(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--diff", action="store_true", help="print what --fix would change, write nothing, exit 1 where it would"
    )
    group.add_argument(
        "--add-noqa", nargs="?", const="", metavar="REASON", help="silence every finding with a comment on its line"
    )


def _add_questions(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--explain", metavar="RULE", help="explain a rule, by code or name")
    group.add_argument("--list-rules", action="store_true", help="list all rules")
    group.add_argument("--show-settings", action="store_true", help="show the settings of each project asked about")
    group.add_argument("--show-files", action="store_true", help="show the files that would be read")
    group.add_argument("--version", "-V", action="store_true", help="show the version")


def take_runtime(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> tuple[list[str], Target] | None:
    """(our own words, what to run) where --runtime stands among our options, else None.

    Our options end at the first positional argument, `-m` or `--`: what follows belongs to the script that is run,
    even if it looks like ours. Raises UsageError where nothing to run is named.
    """
    if "--runtime" not in arguments:
        return None
    from torchperf_lint.runtime.request import Target, split

    takes_value = {name for action in parser._actions if action.nargs is None for name in action.option_strings}
    ours, target = split(arguments, takes_value)
    if "--runtime" not in ours:
        return None
    if target is None and not {"--help", "-h", "--version", "-V"} & set(ours):
        raise UsageError("--runtime: name the script to run, or -m MODULE")
    return ours, target or Target("", False)


def _add_runtime(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--runtime", action="store_true", help="run a script, watch it, and say which findings the run confirms"
    )
    group.add_argument("--simulate", action="store_true", help="run it on a simulated CUDA device: counts, no times")
    group.add_argument("--steps", metavar="N", help="end the script after N optimizer steps")
    group.add_argument("--warmup", metavar="N", help="leave the first N steps out of times (default: 10)")
    group.add_argument(
        "--window", metavar="N", help="profile N steps on the device, left out of times (default: 8; 0: none)"
    )
    group.add_argument("--events", metavar="FILE", help="where to record (default: torchperf-<pid>.events.jsonl)")
    group.add_argument("--lint", metavar="PATH", action="append", help="also judge findings in PATH")
    group.add_argument("--html", metavar="FILE", help="also write the report as a page that needs no network")
    group.add_argument("--trace", metavar="FILE", help="also write the run over time for ui.perfetto.dev")
    group.add_argument("--report", action="store_true", help="judge recorded runs again: PATHs are events files")
    group.add_argument("--compare", metavar="FILE", help="with --report: say what changed from its run to this one")
    group.add_argument("--fail-on-confirmed", action="store_true", help="exit 1 where a finding is confirmed")
