"""Applying fixes: what changes, what stays byte for byte, and what is left alone and reported."""

from __future__ import annotations

import json
import os
import stat
from dataclasses import replace
from pathlib import Path

import pytest
from fake_rules import make_rule

from torchperf_lint import catalog, fix, merging
from torchperf_lint.facts.fixes.edits import fix_of, made
from torchperf_lint.model import Edit, Finding, Fix, Location, Safety
from torchperf_lint.settings import Settings

NL = ["\n", "\r\n", "\r"]


def rule(code, name, check):
    """A rule of the same contract as ours; `check(file)` yields (site or offset, fix)."""

    def found(self, file, project):
        del project
        for site, made_fix in check(file):
            yield self.found(site, message="m", instead="i", fix=made_fix)

    return make_rule(code, name, triggers=("(",), check=found)


def calls(name, build, safety=Safety.SAFE):
    """Checks every call of `name` in a file; `build(edit, site)` makes its edits."""

    def check(file):
        for record in [c for c in file.outline.calls if c.callee.rpartition(".")[2] == name]:
            site = file._site(record, None)
            if site is not None:
                yield site, fix_of(site, safety, lambda edit, site=site: build(edit, site))

    return check


@pytest.fixture
def rules(monkeypatch):
    def install(*made_rules):
        monkeypatch.setattr(catalog, "rule_classes", lambda: made_rules)

    return install


def keyword(name="a"):
    """`a(x)` becomes `a(x, k=1)`; what has it already is not found."""

    def check(file):
        for site, built in calls(name, lambda e, s: e.set_keyword(s.call, "k", "1"))(file):
            if site.keyword("k") is None:
                yield site, built

    return check


def project(tmp_path, **files):
    for name, content in files.items():
        path = tmp_path / name.replace("__", ".")
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return tmp_path


def run(root, *names, unsafe=False, texts=None, to_disk=True):
    files = tuple(sorted(root / name for name in names)) if names else tuple(sorted(root.glob("*.py")))
    target = fix.Target(root, Settings(no_cache=True), files, texts or {})
    return fix.fix(target, unsafe, to_disk)


# -- the pure part ----------------------------------------------------------------------------------------


class Anything:
    """A finding as far as `apply` asks."""

    def __init__(self, *edits, safety=Safety.SAFE, code="TPL101"):
        self.fix = Fix(safety, edits)
        self.code = code
        self.sort_key = (code,)


def test_edits_count_in_code_points_of_the_text():
    done = fix.apply("é = 'ü'\nx = 1\n", [Anything(Edit(12, 13, "2")), Anything(Edit(0, 1, "ö"))])
    assert done.text == "ö = 'ü'\nx = 2\n"
    assert len(done.fixed) == 2


def test_a_fix_is_all_of_its_edits_or_none():
    whole = Anything(Edit(0, 1, "y"), Edit(4, 5, "2"))
    other = Anything(Edit(4, 5, "3"), Edit(8, 8, "# c"))
    done = fix.apply("x = 1\n\n\n", [other, whole])
    assert (done.text, done.fixed) == ("y = 2\n\n\n", (whole,))


@pytest.mark.parametrize(
    ("one", "other", "both"),
    [
        (Edit(0, 3, ""), Edit(3, 4, ""), True),
        (Edit(0, 3, ""), Edit(2, 4, ""), False),
        (Edit(3, 3, "a"), Edit(3, 3, "b"), False),
        (Edit(0, 3, ""), Edit(3, 3, "b"), False),
        (Edit(2, 2, "a"), Edit(3, 3, "b"), True),
    ],
)
def test_what_depends_on_the_order_is_not_done_at_once(one, other, both):
    assert one.touches(other) is not both
    assert other.touches(one) is not both


def test_unsafe_fixes_are_applied_on_request_and_displayed_ones_never():
    unsafe, shown = Anything(Edit(4, 5, "2"), safety=Safety.UNSAFE), Anything(Edit(0, 1, "y"), safety=Safety.DISPLAY)
    assert fix.apply("x = 1\n", [unsafe, shown]).text == "x = 1\n"
    assert fix.apply("x = 1\n", [unsafe, shown], unsafe=True).text == "x = 2\n"


def test_a_result_that_is_not_python_is_refused_and_the_others_are_applied():
    good, bad = Anything(Edit(4, 5, "2")), Anything(Edit(0, 1, "1 +"), code="TPL103")
    done = fix.apply("x = 1\n", [good, bad])
    assert (done.text, done.fixed) == ("x = 2\n", (good,))
    assert [(f.code, reason[:40]) for f, reason in done.refused] == [
        ("TPL103", "the text would not be Python any more: s")
    ]


def test_what_stands_alone_but_not_together_waits():
    """Both statements of a block are dropped: the second fix must find the block as the first left it."""
    one, other = Anything(Edit(9, 11, "")), Anything(Edit(11, 12, ""))
    done = fix.apply("if x:\n    a;b\n".replace("    a", "   a"), [one, other])
    assert done.text == "if x:\n   b\n"
    assert done.fixed == (one,)
    assert done.refused == ()


# -- byte for byte ------------------------------------------------------------------------------------------

BODIES = {
    "comments and odd spacing": "import  os # é\n\n\nx = [ a( 1 ) ,  # one\n\ty ]\n# end",
    "tabs": "def f():\n\tif x:\n\t\ta(1)\t# tab\n",
    "form feeds": "x = 1\n\x0c\ny = a(1)\n\x0c\n",
    "backslashes": "x = 1 + \\\n  a(1) \\\n  + 2\n",
    "no newline at the end": "a(1)",
    "blank lines at the end": "a(1)\n\n   \n\t\n",
    "strings with newlines": "x = '''\n  a(1)\n''' + a(1)\n",
    "separators that are no newlines": "x = 'a\u2028b\x85\x1c'; a(1)\n",
    "trailing blanks": "a(1)   \nb = 2\t\n",
    "comments within the call": "a(  # open\n    1,  # first\n    # alone\n)  # close\n",
}


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"], ids=["plain", "with a byte order mark"])
@pytest.mark.parametrize("newline", NL, ids=["LF", "CRLF", "CR"])
@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_every_byte_outside_the_edit_is_kept(tmp_path, rules, body, newline, mark):
    rules(rule("TPL101", "item-in-hot-loop", keyword()))
    before = mark + body.replace("\n", newline).encode()
    root = project(tmp_path, m__py=before)
    outcome = run(root)
    after = (root / "m.py").read_bytes()
    assert len(outcome.report.fixed) == 1
    assert outcome.report.findings == outcome.report.problems == ()
    added = [b", k=1", (newline + "    k=1,").encode()]
    assert before in [after.replace(text, b"", 1) for text in added]


def test_an_encoding_is_kept(tmp_path, rules):
    rules(rule("TPL101", "item-in-hot-loop", keyword()))
    root = project(tmp_path, m__py="# -*- coding: latin-1 -*-\nx = 'é'; a(1)  # ü\n".encode("latin-1"))
    run(root)
    assert (root / "m.py").read_bytes() == "# -*- coding: latin-1 -*-\nx = 'é'; a(1, k=1)  # ü\n".encode("latin-1")


def test_what_the_encoding_does_not_have_is_not_written(tmp_path, rules):
    rules(rule("TPL101", "item-in-hot-loop", calls("a", lambda e, s: [e.replace(s.call, "'€'")])))
    before = "# coding: latin-1\na(1)\n".encode("latin-1")
    root = project(tmp_path, m__py=before)
    report = run(root).report
    assert (root / "m.py").read_bytes() == before
    assert [(p.path.rpartition("/")[2], p.task) for p in report.problems] == [("m.py", "fixed")]
    assert "cannot be written as latin-1" in report.problems[0].reason
    assert len(report.findings) == 1
    assert report.fixed == ()


def test_bytes_that_would_not_come_back_are_not_written(tmp_path, rules):
    """An encoding with two ways to write the same text."""
    rules(rule("TPL101", "item-in-hot-loop", keyword()))
    before = b"# coding: iso2022_jp\nx = '\x1b$B\x1b(B'; a(1)\n"
    root = project(tmp_path, m__py=before)
    report = run(root).report
    assert (root / "m.py").read_bytes() == before
    assert "not be the same bytes" in report.problems[0].reason


# -- several findings ------------------------------------------------------------------------------------


def test_nested_findings_are_both_fixed(tmp_path, rules):
    rules(rule("TPL101", "item-in-hot-loop", keyword()))
    root = project(tmp_path, m__py="x = a(a(1), a(a(2)))\n")
    report = run(root).report
    assert (root / "m.py").read_text() == "x = a(a(1, k=1), a(a(2, k=1), k=1), k=1)\n"
    assert len(report.fixed) == 4


def test_overlapping_fixes_are_made_one_after_the_other(tmp_path, rules):
    """The outer call is replaced as a whole: the inner one is fixed in the next pass."""
    rules(
        rule(
            "TPL101", "item-in-hot-loop", calls("a", lambda e, s: [e.replace(s.call, f"b({e.source(s.call.args[0])})")])
        ),
        rule("TPL103", "scalar-conversion", keyword("c")),
    )
    root = project(tmp_path, m__py="x = a(c(a(1)))\n")
    report = run(root).report
    assert (root / "m.py").read_text() == "x = b(c(b(1), k=1))\n"
    assert sorted(f.code for f in report.fixed) == ["TPL101", "TPL101", "TPL103"]


def test_both_statements_of_a_block_go(tmp_path, rules):
    rules(rule("TPL401", "empty-cache", calls("a", lambda e, s: e.drop_statement(s.call))))
    root = project(tmp_path, m__py="for i in y:\n    a()\n    a()\nfor i in y:\n    a(); a()\n")
    run(root)
    assert (root / "m.py").read_text() == "for i in y:\n    pass\nfor i in y:\n    pass\n"


def test_an_import_that_two_fixes_need_is_added_once(tmp_path, rules):
    from torchperf_lint.facts.fixes import importing

    def build(edit, site):
        written, edits = importing.require(edit, "torch.zeros")
        return [*edits, edit.replace(site.call.func, written)]

    rules(rule("TPL101", "item-in-hot-loop", calls("a", build)))
    root = project(tmp_path, m__py="x = a(1)\ny = a(2)\n")
    assert len(run(root).report.fixed) == 2
    assert (root / "m.py").read_text() == "import torch\n\nx = torch.zeros(1)\ny = torch.zeros(2)\n"


def test_suppressed_findings_are_never_fixed(tmp_path, rules):
    rules(rule("TPL101", "item-in-hot-loop", keyword()))
    text = "a(1)  # noqa\na(2)  # noqa: TPL101\na(3)  # torchperf-lint: ignore[TPL101]\n"
    root = project(tmp_path, m__py=text)
    assert run(root).changes == ()
    assert (root / "m.py").read_text() == text


def test_findings_that_are_not_shown_are_not_fixed(tmp_path, rules):
    rules(rule("TPL101", "item-in-hot-loop", keyword()))
    root = project(tmp_path, m__py="a(1)\n")
    target = fix.Target(root, Settings(no_cache=True, ignore=("TPL101",)), (root / "m.py",))
    assert fix.fix(target).changes == ()


def test_rules_that_undo_each_other_are_named_and_nothing_is_written(tmp_path, rules):
    rules(
        rule("TPL101", "item-in-hot-loop", calls("a", lambda e, s: [e.replace(s.call.func, "b")])),
        rule("TPL103", "scalar-conversion", calls("b", lambda e, s: [e.replace(s.call.func, "a")])),
        rule("TPL201", "blocking-copy", keyword("c")),
    )
    root = project(tmp_path, m__py="a(1)\nc(1)\n", other__py="c(1)  # a\n")
    report = run(root).report
    assert (root / "m.py").read_text() == "a(1)\nc(1)\n"
    assert (root / "other.py").read_text() == "c(1, k=1)  # a\n"
    (problem,) = report.problems
    assert problem.reason == "fixing comes back to where it was: TPL101 and TPL103 undo each other's changes"
    assert sorted(f.code for f in report.findings) == ["TPL101", "TPL201"]
    assert [f.code for f in report.fixed] == ["TPL201"]


def test_a_rule_that_never_ends_is_named(tmp_path, rules, monkeypatch):
    monkeypatch.setattr(fix, "MOST_PASSES", 5)
    rules(rule("TPL101", "item-in-hot-loop", calls("a", lambda e, s: [e.insert_after(s.call, "a(1)")])))
    root = project(tmp_path, m__py="a(1)\n")
    report = run(root).report
    assert (root / "m.py").read_text() == "a(1)\n"
    assert report.problems[0].reason == "fixing is not done after 5 passes: TPL101 fixes it forever"


def test_text_that_is_not_python_is_reported_and_not_written(tmp_path, rules):
    rules(
        rule("TPL101", "item-in-hot-loop", calls("a", lambda e, s: [e.replace(s.call, "1 +")])),
        rule("TPL103", "scalar-conversion", keyword("b")),
    )
    root = project(tmp_path, m__py="a(1)\nb(1)\n")
    report = run(root).report
    assert (root / "m.py").read_text() == "a(1)\nb(1, k=1)\n"
    (problem,) = report.problems
    assert (problem.rule, problem.line, problem.task) == ("TPL101", 1, "fixed")
    assert problem.reason.startswith("the text would not be Python any more")
    assert [f.code for f in report.findings] == ["TPL101"]


@pytest.mark.parametrize(
    ("fixes", "expected"),
    [
        ([None, None], None),
        ([None, ("unsafe", (5, 6, "x"))], ("unsafe", (5, 6, "x"))),
        ([("safe", (5, 6, "x")), ("safe", (1, 1, "y"))], ("safe", (1, 1, "y"), (5, 6, "x"))),
        (
            [("safe", (5, 6, "x"), (9, 9, "z")), ("safe", (1, 1, "y"), (9, 9, "z"))],
            ("safe", (1, 1, "y"), (5, 6, "x"), (9, 9, "z")),
        ),
        ([("safe", (5, 6, "x")), ("safe", (1, 1, "y"), (5, 7, "z"))], ("safe", (5, 6, "x"))),
        ([("unsafe", (5, 6, "x")), ("safe", (1, 1, "y"))], ("safe", (1, 1, "y"))),
    ],
)
def test_merged_findings_share_one_fix(fixes, expected):
    def fix_from(told):
        return told and Fix(Safety(told[0]), tuple(Edit(*edit) for edit in told[1:]))

    group = [
        Finding("TPL101", "n", Location("a.py", line, 1, line, 2), *[None] * 7, root_cause="r", fix=fix_from(told))
        for line, told in enumerate(fixes, 1)
    ]
    (one,) = merging.merged(group)
    assert one.fix == fix_from(expected)
    assert len(one.related) == len(fixes) - 1


# -- writing ----------------------------------------------------------------------------------------------------


@pytest.fixture
def found(tmp_path, rules):
    rules(rule("TPL101", "item-in-hot-loop", keyword()))
    return project(tmp_path, m__py="a(1)\n")


def test_mode_is_kept(found):
    path = found / "m.py"
    for mode in (0o755, 0o640, 0o600):
        path.write_text("a(1)\n")
        path.chmod(mode)
        run(found)
        assert path.read_text() == "a(1, k=1)\n"
        assert stat.S_IMODE(path.stat().st_mode) == mode


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only a superuser may give files away")
def test_the_owner_is_kept(found):
    path = found / "m.py"
    os.chown(path, 12345, 23456)
    path.chmod(0o4755)
    run(found)
    status = path.stat()
    assert path.read_text() == "a(1, k=1)\n"
    assert (status.st_uid, status.st_gid, stat.S_IMODE(status.st_mode)) == (12345, 23456, 0o4755)


def test_a_link_is_followed(found):
    real = found / "real"
    real.mkdir()
    (found / "m.py").rename(real / "m.py")
    (found / "m.py").symlink_to(Path("real") / "m.py")
    run(found, "m.py")
    assert (found / "m.py").is_symlink()
    assert (real / "m.py").read_text() == "a(1, k=1)\n"
    assert [p.name for p in real.iterdir()] == ["m.py"]


def test_two_names_of_a_file_are_one_file(found):
    (found / "n.py").symlink_to("m.py")
    outcome = run(found, "m.py", "n.py")
    assert (found / "m.py").read_text() == "a(1, k=1)\n"
    assert outcome.report.problems == outcome.report.findings == ()


def test_a_read_only_file_is_reported(found):
    path = found / "m.py"
    path.chmod(0o444)
    report = run(found).report
    assert path.read_text() == "a(1)\n"
    assert [(p.reason, p.task) for p in report.problems] == [("it is read-only", "fixed")]
    assert len(report.findings) == 1
    assert report.fixed == ()


def test_a_file_that_changed_meanwhile_is_left_alone(found, monkeypatch):
    path = found / "m.py"
    real_write = fix.write

    def late(*arguments):
        path.write_text("a(1)\nb(2)\n")
        real_write(*arguments)

    monkeypatch.setattr(fix, "write", late)
    report = run(found).report
    assert path.read_text() == "a(1)\nb(2)\n"
    assert [p.reason for p in report.problems] == ["it changed on disk meanwhile"]
    assert list(found.iterdir()) == [path]


def test_a_file_that_changed_between_linting_and_reading_is_left_alone(found, monkeypatch):
    path = found / "m.py"
    real_lint = fix.lint

    def then_changed(target):
        report = real_lint(target)
        path.write_text("#\na(1)\n")
        return report

    monkeypatch.setattr(fix, "lint", then_changed)
    report = run(found).report
    assert path.read_text() == "#\na(1)\n"
    assert [p.reason for p in report.problems] == ["it changed on disk meanwhile"]


def test_a_write_that_fails_leaves_the_file_and_no_other(found, monkeypatch):
    def full(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    report = run(found).report
    assert (found / "m.py").read_text() == "a(1)\n"
    assert [p.reason for p in report.problems] == ["it cannot be written: no space left on device"]
    assert [p.name for p in found.iterdir()] == ["m.py"]


def test_a_text_that_stands_in_for_a_file_is_not_written(found):
    path = found / "m.py"
    outcome = run(found, texts={path: "x = a(2)\r\n"})
    assert path.read_text() == "a(1)\n"
    assert [change.after for change in outcome.changes] == ["x = a(2, k=1)\r\n"]


def test_nothing_is_written_to_show_a_difference(found):
    outcome = run(found, to_disk=False)
    assert (found / "m.py").read_text() == "a(1)\n"
    assert [(c.before, c.after) for c in outcome.changes] == [("a(1)\n", "a(1, k=1)\n")]
    assert len(outcome.report.fixed) == 1


def test_a_second_run_changes_nothing(found):
    run(found)
    before = (found / "m.py").stat()
    assert run(found).changes == ()
    assert (found / "m.py").stat().st_mtime_ns == before.st_mtime_ns


# -- notebooks ------------------------------------------------------------------------------------------------------


def notebook(*sources, indent=1, ascii_only=False, **more):
    cells = [{"cell_type": "code", "metadata": {}, "outputs": [], "source": source} for source in sources]
    whole = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5, **more}
    return json.dumps(whole, indent=indent, ensure_ascii=ascii_only) + "\n"


STYLES = {
    "as Jupyter writes": {"indent": 1},
    "in one line": {"indent": None},
    "with tabs": {"indent": "\t"},
    "escaped": {"indent": 2, "ascii_only": True},
}


@pytest.mark.parametrize("style", STYLES.values(), ids=STYLES)
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ([["%pip install é\n", "x = 'é'\n", "a(1)  # ü"]], [["%pip install é\n", "x = 'é'\n", "a(1, k=1)  # ü"]]),
        (["a(1)\n", "y = a(2)"], ["a(1, k=1)\n", "y = a(2, k=1)"]),
        ([["a(1)"], [], ["b = 1\n", "\n", "a(2)\n"]], [["a(1, k=1)"], [], ["b = 1\n", "\n", "a(2, k=1)\n"]]),
        ([["a(\n", "    1,\n", ")\n"]], [["a(\n", "    1,\n", "    k=1,\n", ")\n"]]),
        ([["x = 1\n"], "!ls {a(1)}\na(2)"], [["x = 1\n"], "!ls {a(1)}\na(2, k=1)"]),
    ],
)
def test_cells_of_a_notebook_are_fixed_and_its_json_is_kept(tmp_path, rules, before, after, style):
    rules(rule("TPL101", "item-in-hot-loop", keyword()))
    path = tmp_path / "n.ipynb"
    path.write_text(notebook(*before, **style), encoding="utf-8")
    report = run(tmp_path, "n.ipynb").report
    assert report.problems == report.findings == ()
    assert path.read_text(encoding="utf-8") == notebook(*after, **style)


def test_statements_of_a_cell_go(tmp_path, rules):
    rules(rule("TPL401", "empty-cache", calls("a", lambda e, s: e.drop_statement(s.call))))
    path = tmp_path / "n.ipynb"
    path.write_text(notebook(["%matplotlib inline\n", "x = 1\n", "a()"], ["a()\n", "%%time\n"], "b()\na()\n"))
    run(tmp_path, "n.ipynb")
    assert path.read_text() == notebook(["%matplotlib inline\n", "x = 1\n"], ["%%time\n"], "b()\n")


def test_ipythons_lines_are_not_changed(tmp_path, rules):
    rules(
        rule(
            "TPL101",
            "item-in-hot-loop",
            lambda file: [(s, made(Safety.SAFE, [Edit(0, 4, "a(3)")])) for s, _ in keyword()(file)],
        )
    )
    path = tmp_path / "n.ipynb"
    path.write_text(notebook(["%matplotlib inline\n", "a(1)"]))
    before = path.read_text()
    report = run(tmp_path, "n.ipynb").report
    assert path.read_text() == before
    assert [p.reason for p in report.problems] == ["it is in a line that is not Python"]


# -- suppressions that are unused -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x = 1  # noqa: TPL101\n", "x = 1\n"),
        ("x = 1  # noqa: TPL101 - since it is tiny\n", "x = 1\n"),
        ("x = 1  # noqa: E501,TPL101\n", "x = 1  # noqa: E501\n"),
        ("x = 1  # noqa: TPL101, E501 - long\n", "x = 1  # noqa: E501 - long\n"),
        ("x = 1  # noqa: TPL101 TPL103\n", "x = 1\n"),
        ("x = 1  # noqa: TPL101,TPL201  # keep\n", "x = 1  # keep\n"),
        ("x = 1  # type: ignore # noqa: TPL101\n", "x = 1  # type: ignore\n"),
        ("x = 1  # torchperf-lint: ignore[TPL101, TPL103] see #12\n", "x = 1\n"),
        ("x = 1  # torchperf-lint: ignore\n", "x = 1\n"),
        ("def f():\n    # torchperf-lint: ignore-file[TPL101] old\n    x = 1\n", "def f():\n    x = 1\n"),
        ("# flake8: noqa: TPL101, F401\nx = 1\n", "# flake8: noqa: F401\nx = 1\n"),
        ("x = 1  # noqa: TPL101", "x = 1"),
    ],
)
def test_an_unused_suppression_is_removed(tmp_path, before, after):
    root = project(tmp_path, m__py=before)
    report = run(root).report
    assert (root / "m.py").read_text() == after
    assert {f.code for f in report.fixed} == {"TPL001"}
    assert report.findings == ()


def test_a_report_tells_the_text_that_its_fixes_count_in(found):
    path = found / "m.py"
    report = fix.lint(fix.Target(found, Settings(no_cache=True), (path,)))
    (text,) = report.texts.values()
    (finding,) = report.findings
    assert fix.apply(text, [finding]).text == "a(1, k=1)\n"
    assert replace(finding, fix=None).fix is None
