from __future__ import annotations

import io
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from expectations import FIXTURES
from fake_rules import ENVIRONMENT, install

from torchperf_lint import __version__
from torchperf_lint.adapters import _job, cli
from torchperf_lint.model import Confidence, Finding, Location, Problem, Report, Severity

COMMAND = [sys.executable, "-m", "torchperf_lint"]


def shell(*arguments, cwd, **environment):
    """The command in a process of its own."""
    return subprocess.run(
        [*COMMAND, *arguments],
        cwd=cwd,
        env={**ENVIRONMENT, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def start(*arguments, cwd):
    """The command, running."""
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    return subprocess.Popen([*COMMAND, *arguments], cwd=cwd, env=ENVIRONMENT, **pipes)


def finding(path, severity=Severity.WARNING, line=1, code="TPL101"):
    return Finding(
        code,
        "item-in-hot-loop",
        Location(path, line, 1, line, 2),
        severity,
        Confidence.CERTAIN,
        "m",
        None,
        None,
        "i",
        "u",
    )


@pytest.fixture
def project(tmp_path, monkeypatch):
    """The command in this process, with rules of our own and a linter that finds what a file's text says.

    A text is a list of severities, one a line, or `crash` for something that could not be checked.
    """
    install(monkeypatch)
    monkeypatch.chdir(tmp_path)
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(_job, "lint", fake_lint)
    return tmp_path


def fake_lint(target):
    findings, problems = [], []
    for path in target.files:
        name = os.path.relpath(path)
        text = target.texts[path] if path in target.texts else path.read_text()
        for line, word in enumerate(text.split(), 1):
            if word == "crash":
                problems.append(Problem(name, line, "too odd"))
            else:
                findings.append(finding(name, Severity(word), line))
    return Report(tuple(findings), tuple(problems), len(target.files), suppressed=1, seconds={"parse": 0.25})


def run(*arguments):
    return cli.main([*arguments, "--output-format", "concise"])


@pytest.mark.parametrize(
    ("texts", "arguments", "code"),
    [
        ([], [], 0),
        ([""], [], 0),
        (["info"], [], 0),
        (["info"], ["--fail-on", "info"], 1),
        (["warning"], [], 1),
        (["warning"], ["--fail-on", "error"], 0),
        (["error"], ["--fail-on", "error"], 1),
        (["warning"], ["--exit-zero"], 0),
        (["crash"], [], 2),
        (["crash"], ["--exit-zero"], 2),
        (["warning", "crash"], [], 2),
        (["warning"], ["gone.py", "."], 2),
        ([], ["gone.py"], 2),
        (["error"], ["--exclude", "*.py"], 0),
    ],
)
def test_exit_codes(project, texts, arguments, code):
    for number, text in enumerate(texts):
        (project / f"f{number}.py").write_text(text)
    assert run(*arguments) == code


def test_each_project_fails_on_what_it_says(project, capsys):
    (project / "a.py").write_text("warning")
    (project / "sub").mkdir()
    (project / "sub" / "b.py").write_text("info")
    (project / "torchperf-lint.toml").write_text('fail-on = "error"')
    assert run() == 0
    (project / "sub" / "torchperf-lint.toml").write_text('fail-on = "info"')
    assert run() == 1
    assert capsys.readouterr().out.splitlines()[-2:] == ["a.py:1:1: TPL101 m", "sub/b.py:1:1: TPL101 m"]
    assert run("--fail-on", "error") == 0
    assert run("--isolated") == 1


def test_reports_of_projects_become_one_sorted_report(project, capsys):
    for name in ("b", "b.d", "a"):
        (project / name).mkdir()
        (project / name / "x.py").write_text("warning info crash")
    (project / "b" / "torchperf-lint.toml").write_text("")
    assert cli.main(["--output-format", "json", "gone.py", "."]) == 2
    data = json.loads(capsys.readouterr().out)
    assert [(f["path"], f["line"]) for f in data["findings"]] == [
        (path, line) for path in ("a/x.py", "b.d/x.py", "b/x.py") for line in (1, 2)
    ]
    assert [e["path"] for e in data["errors"]] == ["a/x.py", "b.d/x.py", "b/x.py", "gone.py"]
    assert data["summary"]["files"] == 4
    assert data["summary"]["suppressed"] == 2
    assert "seconds" not in json.dumps(data)


def test_what_could_not_be_checked_is_told_beside_the_report(project, capsys):
    (project / "a.py").write_text("warning crash")
    assert run() == 2
    said = capsys.readouterr()
    assert said.out == "a.py:1:1: TPL101 m\n"
    assert said.err == "a.py:2: could not be checked: too odd\n"
    cli.main(["--output-format", "json"])
    assert capsys.readouterr().err == ""


def test_the_report_can_go_to_a_file(project, capsys):
    (project / "a.py").write_text("warning")
    assert cli.main(["--output-file", "report.txt", "--color", "always"]) == 1
    assert capsys.readouterr().out == ""
    text = (project / "report.txt").read_text()
    assert text.endswith("1 finding (1 warning) in 1 file; 1 suppressed by comments\n")
    assert "\x1b" not in text
    assert cli.main(["--output-file", "no/such/report.txt"]) == 2
    assert "--output-file: no/such/report.txt cannot be written" in capsys.readouterr().err


def test_statistics_timings_and_quiet(project, capsys):
    (project / "a.py").write_text("warning info warning")
    assert run("--statistics", "--timings") == 1
    said = capsys.readouterr()
    assert said.out == "3  TPL101  item-in-hot-loop\n"
    assert said.err == "    0.250 s  parse\n"
    cli.main(["--statistics", "--output-format", "json"])
    assert json.loads(capsys.readouterr().out)["summary"]["by_code"] == {"TPL101": 3}
    cli.main(["--quiet"])
    assert "suppressed" not in capsys.readouterr().out


def test_options_may_stand_anywhere_and_paths_may_look_like_them(project, capsys):
    for name in ("a.py", "-b.py", "c.py"):
        (project / name).write_text("warning")
    assert cli.main(["a.py", "--quiet", "c.py", "--show-files", "--", "-b.py", "--gone"]) == 2
    said = capsys.readouterr()
    assert said.out == "-b.py\na.py\nc.py\n"
    assert said.err == "--gone: could not be checked: no such file or directory\n"


def standard_input(monkeypatch, data):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


def test_standard_input_is_read_as_python_reads_a_file(project, monkeypatch, capsys):
    standard_input(monkeypatch, b"\xef\xbb\xbfwarning")
    assert run("-") == 1
    assert capsys.readouterr().out == "<stdin>:1:1: TPL101 m\n"
    (project / "sub").mkdir()
    (project / "sub" / "torchperf-lint.toml").write_text('fail-on = "error"')
    standard_input(monkeypatch, b"warning")
    assert run("--stdin-filename", "sub/new.py", "-") == 0
    assert capsys.readouterr().out == "sub/new.py:1:1: TPL101 m\n"
    standard_input(monkeypatch, b"# coding: utf-7\n\0")
    assert run("--stdin-filename", "sub/new.py") == 2
    assert capsys.readouterr().err.startswith("sub/new.py:2: could not be checked: ")


def test_standard_input_that_is_excluded_is_not_read(project, monkeypatch):
    standard_input(monkeypatch, b"error")
    assert run("-", "--stdin-filename", "build/a.py", "--force-exclude") == 0
    assert run("-", "--stdin-filename", "build/a.py") == 1


def test_standard_input_is_shown_in_its_frame(project, monkeypatch, capsys):
    standard_input(monkeypatch, b"warning")
    cli.main(["-"])
    assert "  1 | warning\n    | ^\n" in capsys.readouterr().out


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--selct", "TPL1"], "unrecognized arguments: --selct; did you mean --select?"),
        (["--sel", "TPL1"], "unrecognized arguments: --sel"),
        (["--select"], "argument --select: expected one argument"),
        (["--select", "TPL404"], "--select: unknown code 'TPL404'"),
        (["--confidence", "sure"], "--confidence: must be one of certain, likely, possible"),
        (["--fail-on", "warnings"], "--fail-on: must be one of error, warning, info; did you mean 'warning'?"),
        (["--jobs", "-1"], "--jobs"),
        (["--jobs", "many"], "--jobs: must be a whole number, 1 or more"),
        (["--target-torch", "new"], "--target-torch: must be a version of torch"),
        (["--per-file-ignores", "a.py"], "--per-file-ignores: must be PATTERN:CODE"),
        (["--output-format", "xml"], "argument --output-format: invalid choice: 'xml'"),
        (["--config", "a.toml", "--isolated"], "--config: cannot be used with --isolated"),
        (["--config", "gone.toml"], "gone.toml: cannot be read: No such file or directory"),
        (["--stdin-filename", "a.py", "b.py"], "--stdin-filename: is for standard input"),
        (["-", "a.py"], "-: standard input cannot be checked together with other paths"),
        (["--explain", "TPL102"], "no rule is called 'TPL102'; did you mean"),
        (["--runtime"], "--runtime: name the script to run"),
        (["--runtime", "--simulate"], "--runtime: name the script to run"),
        (["--select", "TPL1", "--runtime", "--", "gone.py"], "cannot run gone.py: no such file"),
        (["--quiet", "--runtime", "-m"], "-m needs the name of the module to run"),
        (["--runtime", "-"], "a script from standard input cannot be watched"),
        (["--runtime", "--steps", "x", "."], "--steps: 'x' is not a whole number of at least 1"),
        (["--runtime", "--steps", "0", "."], "--steps: '0' is not a whole number of at least 1"),
        (["--runtime", "--warmup", "-1", "."], "--warmup: '-1' is not a whole number of at least 0"),
        (["--runtime", "--window", "-1", "."], "--window: '-1' is not a whole number of at least 0"),
        (["--runtime", "--events", "run.json", "a.py"], "cannot run a.py: no such file"),
        (["--runtime", "--report", "a.py"], "--report: cannot be used with --runtime"),
        (["--runtime", "--output-format", "json", "a.py"], "--output-format json: needs --output-file with --runtime"),
        (["a.py", "--runtime"], "--runtime: stands before the script"),
        (["--simulate", "a.py"], "--simulate: only with --runtime"),
        (["--window", "0", "a.py"], "--window: only with --runtime"),
        (["--fail-on-confirmed", "a.py"], "--fail-on-confirmed: only with --runtime or --report"),
        (["--report"], "--report: name one events file or more"),
        (["--report", "gone.events.jsonl"], "--report: gone.events.jsonl: cannot be read: No such file or directory"),
    ],
)
def test_wrong_usage_is_told_in_a_line(capsys, arguments, reason):
    assert cli.main(arguments) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith(f"torchperf-lint: error: {reason}")
    assert said.err.count("\n") == 1


def test_settings_are_shown_as_a_configuration_file_would_say_them(project, capsys):
    text = 'ignore = ["TPL2"]\nper-file-ignores = { "a\\"b" = ["TPL1", "ALL"] }\nno-cache = true\ncache-dir = "/kept"\n'
    (project / "torchperf-lint.toml").write_text(text)
    assert cli.main(["--show-settings", "--target-torch", "2.3", "--jobs", "2"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("# .: from torchperf-lint.toml\n# select is not set\n")
    (project / "shown.toml").write_text(shown)
    assert cli.main(["--show-settings", "--config", "shown.toml"]) == 0
    again = capsys.readouterr().out
    assert again.splitlines()[1:] == shown.splitlines()[1:]
    assert 'target-torch = "2.3"' in again


def test_rules_are_listed(project, capsys):
    assert cli.main(["--list-rules"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "TPL101  item-in-hot-loop   warning  on   A | item-in-hot-loop.",
        "TPL103  scalar-conversion  warning  on   A | scalar-conversion.",
        "TPL201  blocking-copy      warning  on   A | blocking-copy.",
        "TPL901  amp-not-used       info     off  A | amp-not-used.",
    ]
    assert cli.main(["--list-rules", "--output-format", "json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert [rule["code"] for rule in listed] == ["TPL101", "TPL103", "TPL201", "TPL901"]
    assert listed[3]["severity"] == "info"
    assert listed[3]["default"] is False
    assert cli.main(["--explain", "blocking-copy"]) == 0
    assert capsys.readouterr().out.startswith("# TPL201 blocking-copy\n")


@pytest.mark.parametrize(
    ("flag", "environment", "terminal", "expected"),
    [
        ("auto", {}, True, True),
        ("auto", {}, False, False),
        ("auto", {"TERM": "dumb"}, True, False),
        ("auto", {"NO_COLOR": "1"}, True, False),
        ("auto", {"NO_COLOR": ""}, True, True),
        ("auto", {"FORCE_COLOR": "1"}, False, True),
        ("auto", {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False, False),
        ("always", {"NO_COLOR": "1"}, False, True),
        ("never", {"FORCE_COLOR": "1"}, True, False),
    ],
)
def test_when_there_are_colours(monkeypatch, flag, environment, terminal, expected):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal, raising=False)
    options = type("Options", (), {"color": flag})
    assert cli._wants_color(options, environment) is expected


def test_control_c_ends_quietly(project, monkeypatch, capsys):
    def interrupted(target):
        raise KeyboardInterrupt

    (project / "a.py").write_text("")
    monkeypatch.setattr(_job, "lint", interrupted)
    assert run() == 130
    assert capsys.readouterr().err == ""


def test_the_version_is_told_with_little_imported(tmp_path):
    done = shell("--version", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"torchperf-lint {__version__}\n", "")
    code = (
        "import sys; before = set(sys.modules); from torchperf_lint.adapters.cli import main; main(['--version']);"
        "print(*sorted(set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-c", code], env=ENVIRONMENT, capture_output=True, text=True, check=True)
    ours = {"torchperf_lint", "torchperf_lint.adapters", "torchperf_lint.adapters.cli", "torchperf_lint.errors"}
    assert set(done.stdout.splitlines()[1].split()) - {"__future__"} == ours


def test_help_names_the_options_of_both_halves(tmp_path):
    done = shell("--help", cwd=tmp_path)
    assert done.returncode == 0
    assert "--runtime [options] SCRIPT|-m MODULE [ARGUMENTS ...]" in done.stdout
    assert "--per-file-ignores" in done.stdout


def test_nothing_to_check_is_no_failure(tmp_path):
    done = shell(cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "No findings in 0 files\n", "")


def test_a_reader_that_goes_away_is_no_error(tmp_path):
    for number in range(3000):
        (tmp_path / f"a_rather_long_name_so_that_the_pipe_fills_up_{number:04}.py").touch()
    with start("--show-files", cwd=tmp_path) as process:
        assert process.stdout.readline().endswith(b"_0000.py\n")
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 0


@pytest.mark.skipif(sys.platform == "win32", reason="signals are POSIX")
def test_an_interrupted_process_says_nothing(tmp_path):
    with start("-", cwd=tmp_path) as process:
        wait_until_it_reads(process.pid)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=10)
    assert (process.returncode, out, err) == (130, b"", b"")


def wait_until_it_reads(pid):
    """Until the process sleeps in a read of its input; where that cannot be seen, a second."""
    for _ in range(200):
        try:
            if Path(f"/proc/{pid}/syscall").read_text().startswith("0 0x0 "):
                return
        except OSError:
            time.sleep(1)
            return
        time.sleep(0.02)


def test_names_in_no_encoding_and_a_terminal_that_knows_ascii(tmp_path):
    try:
        (tmp_path / os.fsdecode(b"odd_\xff.py")).touch()
    except OSError:
        pytest.skip("the file system takes no such name")
    (tmp_path / "gewöhnlich.py").touch()
    done = shell("--show-files", cwd=tmp_path, PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "gew\\xf6hnlich.py\nodd_\\ufffd.py\n"


def test_a_wrong_configuration_is_told_in_a_line(tmp_path):
    (tmp_path / "pyproject.toml").write_text("[tool.torchperf-lint]\nconfidenc = 'likely'\n")
    done = shell(cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr == (
        "torchperf-lint: error: pyproject.toml [tool.torchperf-lint]: "
        "unknown key 'confidenc'; did you mean 'confidence'?\n"
    )
    assert shell("--isolated", cwd=tmp_path).returncode == 0


def test_places_are_told_from_the_working_directory_wherever_it_is(tmp_path, capsys, monkeypatch):
    """A finding's other places, too: a run's events are joined by them."""
    root = tmp_path / "project"
    shutil.copytree(FIXTURES / "projects" / "loader_elsewhere", root / "pkg" / "inner")
    (root / "torchperf-lint.toml").write_text("")
    seen = []
    for directory in (root, root / "pkg", root / "pkg" / "inner", tmp_path):
        monkeypatch.chdir(directory)
        cli.main(["--output-format", "json", "--no-cache", str(root / "pkg" / "inner")])
        findings = json.loads(capsys.readouterr().out)["findings"]
        places = [f["path"] for f in findings] + [r["path"] for f in findings for r in f["related"]]
        assert len(set(places)) == 2
        assert all((directory / place).is_file() for place in places), places
        seen.append([(directory / place).resolve() for place in places])
    assert seen[0] == seen[1] == seen[2] == seen[3]
