"""The command: arguments in, a report and an exit code out.

Whatever is not needed for a request is imported only after it is known; `--version` imports nothing.
"""

from __future__ import annotations

import os
import sys

from torchperf_lint import __version__
from torchperf_lint.errors import TorchPerfError, UsageError

TYPE_CHECKING = False  # importing it from typing takes longer than all else here
if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence
    from typing import TextIO

    from torchperf_lint.comparing import Comparison
    from torchperf_lint.run_report import RunReport

INTERRUPTED = 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; the exit code is 0 (nothing to fail for), 1 (findings), 2 (usage, or not checked) or 130."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments in (["--version"], ["-V"]):
        return _out(f"torchperf-lint {__version__}\n", 0)
    try:
        return _run(arguments)
    except TorchPerfError as error:
        _err(f"torchperf-lint: error: {error}\n")
        return error.exit_code
    except KeyboardInterrupt:
        return INTERRUPTED


def _run(arguments: list[str]) -> int:
    from torchperf_lint.adapters import _arguments

    parser = _arguments.make_parser()
    watched = _arguments.take_runtime(parser, arguments)
    options = _arguments.parse(parser, watched[0] if watched else arguments)
    for wanted, answer in _ANSWERS.items():
        if getattr(options, wanted):
            return _out(answer(options), 0)
    if watched:
        from torchperf_lint.adapters import _runtime

        return _runtime.watch(options, watched[1], lambda report: _show(report, options, to_error=True), _err)
    if options.report:
        from torchperf_lint.adapters import _runtime

        return _runtime.replay(options, lambda report, other: _show(report, options, to_error=False, comparison=other))
    return _lint(options)


def _version(options: argparse.Namespace) -> str:
    del options
    return f"torchperf-lint {__version__}\n"


def _explain(options: argparse.Namespace) -> str:
    from torchperf_lint.explain import explain

    return explain(options.explain, _width(), _wants_color(options))


def _list_rules(options: argparse.Namespace) -> str:
    from torchperf_lint.explain import rules_lines, rules_list

    if options.output_format != "json":
        return rules_lines()
    import json

    return json.dumps(rules_list(), indent=2) + "\n"


_ANSWERS = {"version": _version, "explain": _explain, "list_rules": _list_rules}


def _lint(options: argparse.Namespace) -> int:
    from torchperf_lint.adapters import _collector

    _collector.rest()
    from torchperf_lint.adapters import _job

    job = _job.prepare(options)
    if options.show_settings or options.show_files:
        _err(_job.problems_text(job.problems))
        shown = _job.settings_text(job) if options.show_settings else _job.files_text(job)
        return _out(shown, _job.PROBLEMS if job.problems else 0)
    if options.add_noqa is not None:
        from torchperf_lint.adapters import _noqa

        added, problems = _noqa.add(job, options.add_noqa)
        _err(_job.problems_text(problems))
        return _out(added, _job.PROBLEMS if problems else 0)
    ran = _job.run(job, options)
    echo, ran = _job.echoed(ran, job) if job.echo is not None else (None, ran)
    if options.timings:
        _err(_job.timings_text(ran.report))
    if options.output_format != "json" or options.diff:
        _err(_job.problems_text(ran.report.problems))
    if options.diff:
        _err(_job.fixed_text(ran, job, options))
        return _out(_job.diff_text(ran), ran.code)
    if options.output_format != "full":
        _err(_job.fixed_text(ran, job, options))
    to_file = options.output_file is not None
    stream = sys.stderr if echo is not None else sys.stdout
    color = _wants_color(options, stream=stream) and not to_file
    text = _job.report_text(ran, job, options, _width(), color)
    if echo is not None:
        _out_bytes(echo)
    if to_file:
        _write(options.output_file, text)
    elif echo is not None:
        _err(text)
    else:
        _out(text, 0)
    return ran.code


def _show(report: RunReport, options: argparse.Namespace, to_error: bool, comparison: Comparison | None = None) -> None:
    """The report about a run: for people to standard error while a script owns standard output."""
    from torchperf_lint import reporters

    stream = sys.stderr if to_error else sys.stdout
    to_file = options.output_file is not None
    color = _wants_color(options, stream=stream) and not to_file
    view = reporters.View(_width(), color, options.quiet)

    def rendered(name: str, view: reporters.View) -> str:
        if comparison is not None:
            return reporters.render_compared(name, comparison, view)
        return reporters.render_run(name, report, view)

    if to_file:
        _write(options.output_file, rendered(options.output_format, view))
    if to_error:
        _err(rendered("full", reporters.View(_width(), _wants_color(options, stream=stream))))
    elif not to_file:
        _out(rendered(options.output_format, view), 0)
    if options.html is not None:
        _write(options.html, reporters.run_page(report, view, comparison), "--html")
    if options.trace is not None:
        _write(options.trace, reporters.run_trace(report), "--trace")


def _write(path: str, text: str, option: str = "--output-file") -> None:
    try:
        with open(path, "w", encoding="utf-8", errors="backslashreplace", newline="\n") as file:  # noqa: PTH123
            file.write(text)
    except OSError as error:
        raise UsageError(f"{option}: {path} cannot be written: {error.strerror}") from None


def _width() -> int:
    import shutil

    return shutil.get_terminal_size((80, 24)).columns


def _wants_color(
    options: argparse.Namespace, environment: Mapping[str, str] = os.environ, stream: TextIO | None = None
) -> bool:
    """--color, else NO_COLOR, else FORCE_COLOR, else whether the stream (stdout) is a terminal with colours."""
    if options.color != "auto":
        return bool(options.color == "always")
    if environment.get("NO_COLOR"):
        return False
    if environment.get("FORCE_COLOR"):
        return True
    return (stream or sys.stdout).isatty() and environment.get("TERM") != "dumb"


def _out(text: str, code: int) -> int:
    """Print to standard output; a reader that went away (`| head`) is no error."""
    try:
        _print(text, sys.stdout)
    except BrokenPipeError:
        # Python would flush the rest at exit and complain about the pipe.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return code


def _out_bytes(data: bytes) -> None:
    try:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _err(text: str) -> None:
    try:
        _print(text, sys.stderr)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())


def _print(text: str, stream: object) -> None:
    # A file name may be in no encoding, and a terminal may know only ASCII.
    encoding = getattr(stream, "encoding", None) or "utf-8"
    text = text.encode(encoding, "backslashreplace").decode(encoding)
    print(text, end="", file=stream, flush=True)  # type: ignore[call-overload]
