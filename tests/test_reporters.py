from __future__ import annotations

import json
import subprocess
import sys

import pytest
from fake_rules import ENVIRONMENT

from torchperf_lint import reporters
from torchperf_lint.model import (
    Confidence,
    Edit,
    Finding,
    Fix,
    Location,
    Outcome,
    Problem,
    Related,
    Report,
    Safety,
    Severity,
    Verdict,
)
from torchperf_lint.reporters import View, render
from torchperf_lint.reporters._diff import departures, of_fix
from torchperf_lint.reporters._frame import cropped

SOURCE = """\
loader = DataLoader(dataset, batch_size=256)

for images, labels in loader:
    loss = criterion(model(images.to(device)), labels)
    total += loss.item()
    loss.backward()
"""


def at(line, column, end_line, end_column, path="train.py", cell=None):
    return Location(path, line, column, end_line, end_column, cell)


def finding(location=None, **changes):
    values = {
        "code": "TPL101",
        "name": "item-in-hot-loop",
        "location": location or at(5, 14, 5, 25),
        "severity": Severity.WARNING,
        "confidence": Confidence.CERTAIN,
        "message": "`loss.item()` waits for the device at every step of the loop over `loader`",
        "why_tensor": "`loss` is what `criterion(...)` returns (line 4)",
        "why_hot": "runs every training step: in the loop over `loader` (line 3)",
        "instead": "add up `loss.detach()` and read it once after the loop",
        "url": "torchperf-lint --explain TPL101",
    }
    return Finding(**{**values, **changes})


def full(*findings, source=SOURCE, width=80, **view):
    report = Report(findings, files=1)
    return render("full", report, View(width=width, texts={"train.py": source}, **view))


def frame_of(location, source, width=80):
    """The lines of the code frame, without the indentation."""
    lines = full(finding(location), source=source, width=width).splitlines()
    return [line[2:] for line in lines if " |" in line[:10]]


def test_formats_are_the_modules_of_the_package():
    assert reporters.formats() == ("concise", "full", "json")


def test_full_says_where_what_and_why():
    assert full(finding()) == (
        "train.py:5:14  warning TPL101 item-in-hot-loop (certain)\n"
        "  `loss.item()` waits for the device at every step of the loop over `loader`\n"
        "\n"
        "  4 |     loss = criterion(model(images.to(device)), labels)\n"
        "  5 |     total += loss.item()\n"
        "    |              ^^^^^^^^^^^\n"
        "  6 |     loss.backward()\n"
        "\n"
        "  instead     add up `loss.detach()` and read it once after the loop\n"
        "  why tensor  `loss` is what `criterion(...)` returns (line 4)\n"
        "  why hot     runs every training step: in the loop over `loader` (line 3)\n"
        "  read more   torchperf-lint --explain TPL101\n"
        "\n"
        "1 finding (1 warning) in 1 file\n"
    )


def test_full_shows_code_to_write_as_it_is_and_related_places_with_their_line():
    code = "loader = DataLoader(dataset, batch_size=256, pin_memory=True, num_workers=8, drop_last=True)\nx = y"
    related = Related(at(1, 10, 1, 45), "this loader's batches are not pinned")
    text = full(finding(instead=code, related=(related,), why_tensor=None))
    assert "  instead     " + code.replace("\n", "\n" + " " * 14) + "\n" in text
    assert "why tensor" not in text
    assert (
        "  see also    train.py:1:10  this loader's batches are not pinned\n"
        "              1 | loader = DataLoader(dataset, batch_size=256)\n"
        "                |          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^\n"
    ) in text


@pytest.mark.parametrize("width", [60, 80, 100, 500])
def test_full_fits_the_page(width):
    words = "word " * 60
    long_line = "x = [" + "1234567, " * 40 + "]"
    report = full(
        finding(at(2, 150, 2, 170), message=words, why_hot=words, instead=words),
        source=f"{long_line}\n{long_line}\n{long_line}",
        width=width,
    )
    assert max(map(len, report.splitlines())) <= min(width, 120)
    assert "^" * 20 in report


def test_a_place_that_is_too_long_stays_in_one_piece():
    path = "a/" * 50 + "train.py"
    lines = full(finding(at(1, 1, 1, 2, path=path))).splitlines()
    assert lines[:2] == [f"{path}:1:1", "  warning TPL101 item-in-hot-loop (certain)"]


def test_code_within_words_is_not_broken_across_lines():
    words = "word " * 10
    text = full(finding(instead=f"{words}under `if step % n == 0:` or {words}"))
    assert "under\n              `if step % n == 0:` or word" in text
    assert "\ue000" not in text
    assert max(map(len, full(finding(instead=f"`{words}`")).splitlines())) <= 80


def test_a_span_of_some_lines_is_underlined_on_each():
    source = "a\nx = f(\n    1,\n).cuda()  # why\nb\n"
    assert frame_of(at(2, 5, 4, 9), source) == [
        "1 | a",
        "2 | x = f(",
        "  |     ^^",
        "3 |     1,",
        "  |     ^^",
        "4 | ).cuda()  # why",
        "  | ^^^^^^^^",
        "5 | b",
    ]


def test_a_span_of_many_lines_is_shown_by_its_ends():
    source = "f(\n" + "    1,\n" * 20 + ")\n"
    assert frame_of(at(1, 1, 22, 2), source) == [
        " 1 | f(",
        "   | ^^",
        " 2 |     1,",
        "   |     ^^",
        "   | ...",
        "22 | )",
        "   | ^",
    ]


@pytest.mark.parametrize(
    ("line", "column", "end", "shown", "marks"),
    [
        ("\tx = y.item()", 6, 14, "    x = y.item()", "        ^^^^^^^^"),
        ("x\t= y", 3, 4, "x    = y", "     ^"),
        ("損失 = y.item()", 6, 14, "損失 = y.item()", "       ^^^^^^^^"),
        ("損失 = y", 1, 3, "損失 = y", "^^^^"),
        ("e\u0301 = y", 6, 7, "e\u0301 = y", "    ^"),
        ("x = '\x1b[31m'", 1, 2, "x = '\ufffd[31m'", "^"),
        ("x = '\u202e'", 1, 2, "x = '\ufffd'", "^"),
        ("x = y", 3, 3, "x = y", "  ^"),
        ("x = y", 60, 70, "x = y", "     ^"),
        ("\x0cx = y", 2, 3, "\ufffdx = y", " ^"),
    ],
)
def test_the_underline_stands_below_the_span(line, column, end, shown, marks):
    assert frame_of(at(1, column, 1, end), f"{line}\n") == [f"1 | {shown}", f"  | {marks}"]


def test_a_long_line_is_cut_around_the_span():
    line = "a" * 200 + " + loss.item() + " + "b" * 200
    shown, marks = frame_of(at(1, 204, 1, 215), line, width=60)
    assert shown[4:7] == shown[-3:] == "..."
    assert len(shown) <= 58
    assert shown[marks.index("^") : marks.rindex("^") + 1] == "loss.item()"


@pytest.mark.parametrize("column", range(1, 150))
def test_whatever_is_underlined_is_what_the_span_holds(column):
    line = "".join(f"{n:03}" for n in range(60))
    shown, marks = frame_of(at(1, column, 1, column + 6), line, width=50)
    assert shown[marks.index("^") : marks.rindex("^") + 1] == line[column - 1 : column + 5]


def test_wide_characters_are_cut_without_moving_the_underline():
    line = "損" * 100 + "x.item()" + "失" * 100
    for width in (50, 51, 52, 53):
        shown, marks = frame_of(at(1, 101, 1, 109), line, width=width)
        assert shown.index("x.item()") + shown[: shown.index("x")].count("損") == marks.index("^")
        assert marks.count("^") == len("x.item()")


def test_a_span_wider_than_the_page_is_marked_to_its_edge():
    shown, marks = frame_of(at(1, 5, 1, 300), "x = " + "a" * 400, width=60)
    assert len(shown) == len(marks) == 58
    assert marks == "  | " + " " * 4 + "^" * 50


def test_a_file_that_vanished_or_shrank_costs_only_the_frame(tmp_path):
    report = Report((finding(at(5, 1, 5, 2)), finding(at(90, 1, 91, 2))), files=1)
    text = render("full", report, View(cwd=tmp_path))
    assert " |" not in text
    assert text.count("instead") == 2
    (tmp_path / "train.py").write_bytes(b"\xff\x00")
    assert " |" not in render("full", report, View(cwd=tmp_path))
    (tmp_path / "train.py").write_text(SOURCE)
    assert "5 |     total += loss.item()" in render("full", report, View(cwd=tmp_path))


def test_lines_end_where_python_ends_them():
    source = "a = '\u2028'\r\nb = 2\rc = 3\x0c\nd = 4"
    assert frame_of(at(3, 1, 3, 2), source) == ["2 | b = 2", "3 | c = 3\ufffd", "  | ^", "4 | d = 4"]


def test_a_cell_of_a_notebook_has_its_own_lines(tmp_path):
    cells = [
        {"cell_type": "code", "source": ["import torch\n", "x = 1"]},
        {"cell_type": "markdown", "source": "words"},
        {"cell_type": "code", "source": "for b in loader:\n    b.item()\n"},
    ]
    (tmp_path / "n.ipynb").write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4}))
    report = Report((finding(at(2, 5, 2, 13, path="n.ipynb", cell=2)), finding(at(1, 1, 1, 2, path="n.ipynb", cell=9))))
    lines = render("full", report, View(cwd=tmp_path)).splitlines()
    assert lines[0] == "n.ipynb:cell 2:2:5  warning TPL101 item-in-hot-loop (certain)"
    assert lines[3:6] == ["  1 | for b in loader:", "  2 |     b.item()", "    |     ^^^^^^^^"]
    assert render("concise", report, View()).startswith("n.ipynb:cell 2:2:5: TPL101 ")


def test_colours_only_where_they_are_wanted(monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b" not in full(finding())
    monkeypatch.setenv("NO_COLOR", "1")
    colored = full(finding(), color=True)
    assert "\x1b[1;33m" in colored


@pytest.mark.parametrize(
    ("report", "line"),
    [
        (Report(files=40), "No findings in 40 files"),
        (Report(files=1), "No findings in 1 file"),
        (Report((finding(),), files=1, suppressed=2), "1 finding (1 warning) in 1 file; 2 suppressed by comments"),
        (
            Report(
                (finding(severity=Severity.INFO), finding(), finding(severity=Severity.ERROR), finding()),
                (Problem("a.py", 1, "x"), Problem("a.py", 2, "y"), Problem("b.py", None, "z")),
                files=3,
            ),
            "4 findings (1 error, 2 warnings, 1 info) in 3 files; 2 files could not be checked",
        ),
    ],
)
def test_the_closing_line(report, line):
    assert render("full", report, View()).splitlines()[-1] == line
    assert line not in render("full", report, View(quiet=True))


def test_concise_is_one_line_a_finding_whatever_is_in_it():
    odd = finding(at(1, 2, 1, 3, path="a\nb.py"), message="two\nlines \x1b[31m")
    text = render("concise", Report((finding(), odd)), View())
    assert text.splitlines() == [
        "train.py:5:14: TPL101 `loss.item()` waits for the device at every step of the loop over `loader`",
        "a\ufffdb.py:1:2: TPL101 two\ufffdlines \ufffd[31m",
    ]
    assert render("concise", Report(), View()) == ""


def test_json_has_the_whole_schema():
    fix = Fix(Safety.UNSAFE, (Edit(3, 4, "x"),))
    verdict = Verdict(Outcome.CONFIRMED, "seen 3 times")
    one = finding(
        related=(Related(at(1, 2, 3, 4), "here"),), fix=fix, verdict=verdict, root_cause="secret", why_tensor=None
    )
    report = Report(
        (one, finding(at(1, 1, 2, 2, path="é.ipynb", cell=3), code="TPL201", severity=Severity.INFO)),
        (Problem("bad.py", 3, "syntax error", "TPL101"),),
        files=7,
        suppressed=1,
        seconds={"parse": 0.5},
    )
    text = render("json", report, View())
    data = json.loads(text)
    assert list(data) == ["version", "findings", "errors", "summary"]
    assert data["version"] == 1
    assert data["findings"][0] == {
        "code": "TPL101",
        "name": "item-in-hot-loop",
        "path": "train.py",
        "line": 5,
        "column": 14,
        "end_line": 5,
        "end_column": 25,
        "severity": "warning",
        "confidence": "certain",
        "message": one.message,
        "why_tensor": None,
        "why_hot": one.why_hot,
        "instead": one.instead,
        "url": one.url,
        "cell": None,
        "related": [{"path": "train.py", "line": 1, "column": 2, "end_line": 3, "message": "here"}],
        "callers": [],
        "fix": {"safety": "unsafe", "edits": [{"start": 3, "end": 4, "text": "x"}]},
        "verdict": {
            "outcome": "confirmed",
            "reason": "seen 3 times",
            "blocked_ms_per_step": None,
            "bubble_ms_per_step": None,
            "share_of_step": None,
            "times": None,
            "times_per": None,
            "instead": None,
        },
    }
    assert (data["findings"][1]["path"], data["findings"][1]["cell"]) == ("é.ipynb", 3)
    assert data["findings"][1]["fix"] is data["findings"][1]["verdict"] is None
    assert data["errors"] == [
        {"path": "bad.py", "line": 3, "reason": "syntax error", "rule": "TPL101", "task": "checked"}
    ]
    assert data["summary"] == {
        "files": 7,
        "findings": 2,
        "errors": 1,
        "suppressed": 1,
        "fixed": 0,
        "by_severity": {"error": 0, "warning": 1, "info": 1},
        "by_code": {"TPL101": 1, "TPL201": 1},
    }
    assert text.isascii()


def test_statistics_count_per_rule_most_first():
    report = Report((finding(), *(finding(code="TPL201", name="blocking-copy") for _ in range(10))))
    assert reporters.statistics(report) == "10  TPL201  blocking-copy\n 1  TPL101  item-in-hot-loop\n"


@pytest.mark.parametrize("name", ["concise", "json"])
def test_formats_for_programs_do_not_import_rich(name):
    code = (
        "import sys; from torchperf_lint import reporters as r; from torchperf_lint.model import Report;"
        f"r.render({name!r}, Report(), r.View()); sys.exit('rich' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False, env=ENVIRONMENT).returncode == 0


def test_a_long_line_of_a_fix_is_cut_so_that_the_change_is_seen():
    text = "result = torch.full(logits.shape, self.smoothing / self.classes_of_this_task + self.eps).to(logits.device)"
    at = text.index(").to(")
    fix = Fix(Safety.SAFE, (Edit(at, len(text), ", device=logits.device)"),))
    changed = of_fix(text + "\n", fix)
    shown = [cropped(line, where, 60) for (_, line), where in zip(changed, departures(changed), strict=True)]
    assert len(shown) == 2
    assert all(len(line) <= 60 and line.startswith("...") for line in shown)
    assert ").to(logits.device)" in shown[0]
    assert ", device=logits.device)" in shown[1]
