"""`--fix` and its like, as people type them."""

from __future__ import annotations

import io
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from fake_rules import ENVIRONMENT
from test_fix_engine import calls, keyword, notebook, rule

from torchperf_lint import catalog
from torchperf_lint.adapters import cli
from torchperf_lint.facts.files import suppressions
from torchperf_lint.model import Safety

NOT_FOUND_AGAIN = "a(1, k=1)\n"


@pytest.fixture
def project(tmp_path, monkeypatch):
    """Three rules: TPL101 has a safe fix, TPL103 an unsafe one, TPL201 none."""
    made_rules = (
        rule("TPL101", "item-in-hot-loop", keyword()),
        rule("TPL103", "scalar-conversion", calls("b", lambda e, s: e.drop_statement(s.call), Safety.UNSAFE)),
        rule("TPL201", "blocking-copy", calls("c", lambda e, s: [])),
    )
    monkeypatch.setattr(catalog, "rule_classes", lambda: made_rules)
    monkeypatch.chdir(tmp_path)
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "m.py").write_text("a(1)\nb(2)\nc(3)\n")
    return tmp_path


@pytest.fixture
def run(capsys):
    def run(*arguments):
        code = cli.main(["--no-cache", *arguments])
        said = capsys.readouterr()
        return code, said.out, said.err

    return run


def test_safe_fixes_are_written_and_what_remains_decides(project, run):
    code, out, err = run("--fix")
    assert (project / "m.py").read_text() == "a(1, k=1)\nb(2)\nc(3)\n"
    assert code == 1
    assert err == ""
    assert out.splitlines()[-2:] == [
        "Found 3 findings (1 fixed, 2 remaining) in 1 file",
        "1 fixable with --fix --unsafe-fixes",
    ]


def test_unsafe_fixes_are_written_on_request(project, run):
    (project / "m.py").write_text("a(1)\nb(2)\nx = 1\n")
    code, out, _ = run("--fix", "--unsafe-fixes")
    assert (project / "m.py").read_text() == "a(1, k=1)\nx = 1\n"
    assert (code, out) == (0, "Found 2 findings (2 fixed, 0 remaining) in 1 file\n")


def test_nothing_is_written_unless_it_is_asked_for(project, run):
    code, out, _ = run("--unsafe-fixes")
    assert code == 1
    assert (project / "m.py").read_text() == "a(1)\nb(2)\nc(3)\n"
    assert out.splitlines()[-1] == "[*] 2 fixable with --fix"
    assert run()[1].splitlines()[-1] == "[*] 1 fixable with --fix (1 more with --unsafe-fixes)"


def test_a_report_shows_the_fix(project, run):
    out = run()[1]
    assert "  fix         [*] --fix\n              - a(1)\n              + a(1, k=1)\n" in out
    assert "  fix         --fix --unsafe-fixes\n              - b(2)\n" in out


def test_concise_marks_what_can_be_fixed(project, run):
    assert run("--output-format", "concise")[1].splitlines() == [
        "m.py:1:1: TPL101 [*] m",
        "m.py:2:1: TPL103 m",
        "m.py:3:1: TPL201 m",
    ]
    assert "m.py:2:1: TPL103 [*] m" in run("--output-format", "concise", "--unsafe-fixes")[1]


def test_a_difference_is_shown_and_nothing_is_written(project, run):
    (project / "m.py").write_bytes(b"x = 0\r\na(1)\r\nb(2)")
    (project / "n.py").write_text("c(1)\n")
    code, out, err = run("--diff", "--unsafe-fixes")
    assert code == 1
    assert out == (
        "--- m.py\n+++ m.py\n@@ -1,3 +1,2 @@\n x = 0\r\n-a(1)\r\n-b(2)\n\\ No newline at end of file\n+a(1, k=1)\r\n"
    )
    assert err == "Would fix 2 findings.\n"
    assert (project / "m.py").read_bytes() == b"x = 0\r\na(1)\r\nb(2)"


@pytest.mark.skipif(shutil.which("patch") is None, reason="needs patch")
@pytest.mark.parametrize("text", ["a(1)\n", "a(1)", "x = 1\n\x0c\na(1)\n\n\ny = '\u2028'\na(2)", "a(1)\r\nx = 1\r\n"])
def test_patch_takes_the_difference(project, run, text):
    data = text.encode()
    (project / "m.py").write_bytes(data)
    out = run("--diff")[1]
    subprocess.run(["patch", "--binary", "-p0"], input=out.encode(), cwd=project, check=True, capture_output=True)
    assert (project / "m.py").read_bytes() == data.replace(b"a(1)", b"a(1, k=1)").replace(b"a(2)", b"a(2, k=1)")


def test_no_difference_is_no_failure(project, run):
    (project / "m.py").write_text("c(1)\n")
    assert run("--diff") == (0, "", "")
    assert run("--diff", "--quiet", "gone.py")[0] == 2


def test_difference_that_is_excused(project, run):
    assert run("--diff", "--exit-zero")[0] == 0


def test_what_was_fixed_is_listed(project, run):
    (project / "m.py").write_text("a(1)\na(2)\nb(2)\n")
    (project / "k.py").write_text("a(1)\n")
    listed = "3 findings:\n- k.py:\n    1 x TPL101 item-in-hot-loop\n- m.py:\n    2 x TPL101 item-in-hot-loop\n"
    assert run("--diff", "--show-fixes")[2] == f"Would fix {listed}"
    assert f"Fixed {listed}" in run("--fix", "--show-fixes")[1]
    assert "Fixed" not in run("--fix", "--show-fixes")[1]


def test_json_counts_what_was_fixed(project, run):
    data = json.loads(run("--fix", "--output-format", "json")[1])
    assert (data["summary"]["fixed"], data["summary"]["findings"]) == (1, 2)
    assert [f["fix"] and f["fix"]["safety"] for f in data["findings"]] == ["unsafe", None]


def test_what_cannot_be_fixed_is_told(project, run):
    (project / "m.py").chmod(0o444)
    code, out, err = run("--fix")
    assert code == 2
    assert err == "m.py: could not be fixed: it is read-only\n"
    assert out.splitlines()[-2].endswith("in 1 file; 1 file could not be fixed")
    assert json.loads(run("--fix", "--output-format", "json")[1])["errors"] == [
        {"path": "m.py", "line": None, "reason": "it is read-only", "rule": None, "task": "fixed"}
    ]


def test_the_configuration_may_ask_for_fixes(project, run):
    (project / "torchperf-lint.toml").write_text("fix = true\nunsafe-fixes = true\nshow-fixes = true\n")
    assert run("--diff", "--no-show-fixes")[2] == "Would fix 2 findings.\n"
    run("--no-fix")
    assert (project / "m.py").read_text() == "a(1)\nb(2)\nc(3)\n"
    assert run("--no-unsafe-fixes")[1].splitlines()[-5:-1] == [
        "Fixed 1 finding:",
        "- m.py:",
        "    1 x TPL101 item-in-hot-loop",
        "Found 3 findings (1 fixed, 2 remaining) in 1 file",
    ]
    run()
    assert (project / "m.py").read_text() == "a(1, k=1)\nc(3)\n"


def test_each_project_says_for_itself(project, run):
    (project / "sub").mkdir()
    (project / "sub" / "torchperf-lint.toml").write_text("fix = true\n")
    (project / "sub" / "s.py").write_text("a(1)\n")
    run(".")
    assert (project / "sub" / "s.py").read_text() == "a(1, k=1)\n"
    assert (project / "m.py").read_text().startswith("a(1)\n")


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--add-noqa", "--fix"], "--add-noqa: cannot be used with --fix"),
        (["--add-noqa", "--diff"], "--add-noqa: cannot be used with --fix, --diff"),
        (["--add-noqa=a\nb"], "--add-noqa: the reason must be one line of text"),
        (["--add-noqa", "-"], "--add-noqa: cannot be used with standard input"),
        (["--fix", "--report", "x"], "--fix: cannot be used with --runtime or --report"),
        (["--diff", "--runtime", "m.py"], "--diff: cannot be used with --runtime or --report"),
        (["--runtime", "--unsafe-fixes", "m.py"], "--unsafe-fixes: cannot be used with --runtime or --report"),
    ],
)
def test_wrong_usage(project, run, monkeypatch, arguments, reason):
    monkeypatch.setattr(sys, "stdin", stream(b"a(1)\n"))
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert reason in err


# -- standard input ---------------------------------------------------------------------------------------------


def stream(data):
    return io.TextIOWrapper(io.BytesIO(data))


@pytest.mark.parametrize(
    ("data", "after"),
    [
        (b"\xef\xbb\xbfa(1)\r\nb(2)\r\n", b"\xef\xbb\xbfa(1, k=1)\r\nb(2)\r\n"),
        (
            "# coding: latin-1\nx = 'é'; a(1)".encode("latin-1"),
            "# coding: latin-1\nx = 'é'; a(1, k=1)".encode("latin-1"),
        ),
        (b"c(1)\r", b"c(1)\r"),
        (b"a(", b"a("),
        (b"\xff\n", b"\xff\n"),
        (b"", b""),
    ],
)
def test_standard_input_is_fixed_to_standard_output(project, monkeypatch, capsysbinary, data, after):
    monkeypatch.setattr(sys, "stdin", stream(data))
    code = cli.main(["--fix", "--no-cache", "-"])
    said = capsysbinary.readouterr()
    assert said.out == after
    assert b" in 1 file" in said.err or b"No findings" in said.err
    assert code == (1 if b"b(" in data or b"c(" in data else 2 if data in (b"a(", b"\xff\n") else 0)


def test_standard_input_that_is_excluded_passes_through(project, monkeypatch, capsysbinary):
    monkeypatch.setattr(sys, "stdin", stream(b"a(1)\r\n"))
    arguments = ["--fix", "--force-exclude", "--exclude", "x.py", "--stdin-filename", "x.py", "-"]
    assert cli.main(arguments) == 0
    assert capsysbinary.readouterr().out == b"a(1)\r\n"


def test_the_difference_of_standard_input(project, monkeypatch, run):
    monkeypatch.setattr(sys, "stdin", stream(b"a(1)\n"))
    code, out, _ = run("--diff", "--stdin-filename", "x.py", "-")
    assert (code, out) == (1, "--- x.py\n+++ x.py\n@@ -1 +1 @@\n-a(1)\n+a(1, k=1)\n")
    assert not (project / "x.py").exists()


def test_a_frame_shows_the_text_as_it_is_now(project, monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdin", stream(b"b(2)\nx = 1; c(3)\n"))
    cli.main(["--fix", "--unsafe-fixes", "--no-cache", "-"])
    said = capsys.readouterr()
    assert said.out == "x = 1; c(3)\n"
    assert "1 | x = 1; c(3)\n" in said.err


# -- comments that silence ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a(1)\n", "a(1)  # noqa: TPL101\n"),
        ("c(a(1))  \r\nx = 1", "c(a(1))  # noqa: TPL101, TPL201  \r\nx = 1"),
        ("a(1)  # why\n", "a(1)  # why  # noqa: TPL101\n"),
        ("a(1)  # noqa: E501\n", "a(1)  # noqa: E501,TPL101\n"),
        ("c(a(1))  # NOQA: E501, W605 long\n", "c(a(1))  # NOQA: E501, W605, TPL101, TPL201 long\n"),
        ("c(a(1))  # noqa: TPL201\n", "c(a(1))  # noqa: TPL201,TPL101\n"),
        ("a(\n    1,\n)\n", "a(  # noqa: TPL101\n    1,\n)\n"),
        ("x = 1 + \\\n    a(1) + \\\n    2\ny = 1\n", "x = 1 + \\\n    a(1) + \\\n    2  # noqa: TPL101\ny = 1\n"),
        ("a('''\n# no comment\n''')\n", "a('''\n# no comment\n''')  # noqa: TPL101\n"),
        ("f'''\n{a(1)}\n'''\n", "f'''\n{a(1)}\n'''  # noqa: TPL101\n"),
        ("a(1)  # torchperf-lint: ignore[TPL201]\n", "a(1)  # torchperf-lint: ignore[TPL201]  # noqa: TPL101\n"),
    ],
)
def test_a_comment_silences_every_finding(project, run, before, after):
    (project / "m.py").write_bytes(before.encode())
    code, out, err = run("--add-noqa", ".")
    assert (code, out, err) == (0, "Added 1 noqa comment.\n", "")
    assert (project / "m.py").read_bytes() == after.encode()
    assert run()[0] == 0
    assert run("--add-noqa")[1] == "Added 0 noqa comments.\n"


def test_a_reason_may_be_given(project, run):
    (project / "m.py").write_text("a(1)\nc(3)  # noqa: E501\nc(4)  # noqa: E501 - long\nx = 1\n")
    run("--add-noqa=it is tiny, see ABC-1", "m.py")
    assert (project / "m.py").read_text() == (
        "a(1)  # noqa: TPL101 - it is tiny, see ABC-1\nc(3)  # noqa: E501,TPL201 - it is tiny, see ABC-1\n"
        "c(4)  # noqa: E501,TPL201 - long\nx = 1\n"
    )
    assert [m.codes for m in suppressions.parse((project / "m.py").read_text()).all] == [
        ("TPL101",),
        ("E501", "TPL201"),
        ("E501", "TPL201"),
    ]


def test_flake8_reads_the_comments_as_we_do(project, run):
    """Its own finding is silenced by a comment of the same form: F821 stands in for ours."""
    for text in ("a(1)\n", "x = a(1) + \\\n    2\n", "a('''\n''')\n", "a(\n    1,\n)\n"):
        (project / "m.py").write_text(text)
        run("--add-noqa=tiny", "m.py")
        silenced = (project / "m.py").read_text().replace("TPL101", "F821,TPL101")
        (project / "m.py").write_text(silenced)
        done = subprocess.run(
            [sys.executable, "-m", "flake8", "--isolated", "--select", "F", "m.py"],
            capture_output=True,
            text=True,
            check=False,
            env=ENVIRONMENT,
        )
        assert (done.stdout, done.returncode) == ("", 0), silenced


def test_comments_go_into_cells(project, run):
    (project / "m.py").unlink()
    path = project / "n.ipynb"
    path.write_text(notebook(["%matplotlib inline\n", "a(1)"], ["x = 1\n", "c(3)  # why\n"]))
    assert run("--add-noqa", "n.ipynb")[1] == "Added 2 noqa comments.\n"
    assert path.read_text() == notebook(
        ["%matplotlib inline\n", "a(1)  # noqa: TPL101"], ["x = 1\n", "c(3)  # why  # noqa: TPL201\n"]
    )


def test_comments_are_not_added_where_nothing_may_be_written(project, run):
    (project / "m.py").chmod(0o444)
    assert run("--add-noqa") == (2, "Added 0 noqa comments.\n", "m.py: could not be fixed: it is read-only\n")


def test_flake8_never_fixes(tmp_path):
    (tmp_path / "torchperf-lint.toml").write_text("fix = true\n")
    text = "import torch\n\nx = 1  # noqa: TPL101\n"
    (tmp_path / "m.py").write_text(text)
    command = [sys.executable, "-m", "flake8", "--select", "TPL", "m.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, env=ENVIRONMENT)
    assert "TPL001" in done.stdout, done.stderr
    assert (tmp_path / "m.py").read_text() == text


def test_the_hook_fixes(tmp_path):
    hooks = (Path(__file__).parents[1] / ".pre-commit-hooks.yaml").read_text()
    entry = hooks[hooks.index("- id: torchperf-lint-fix") :].split("entry: torchperf-lint ")[1].splitlines()[0].split()
    (tmp_path / "m.py").write_text("x = 1  # noqa: TPL101\n")
    command = [sys.executable, "-m", "torchperf_lint", *entry, "m.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, env=ENVIRONMENT)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "m.py").read_text() == "x = 1\n"
