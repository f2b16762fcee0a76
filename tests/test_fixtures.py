"""Every fixture says on its lines what must be found there; nothing else may be."""

from __future__ import annotations

import ast

import pytest
from expectations import (
    FIXTURES,
    PROJECTS,
    REFERENCES,
    RULE_FOLDERS,
    asked_for,
    code_of,
    differences,
    marks_of,
    marks_of_text,
    run,
)

from torchperf_lint.model import Severity

FILES = [path for folder in RULE_FOLDERS for path in (folder / "bad.py", folder / "good.py")]


def name(path):
    return path.relative_to(FIXTURES).as_posix()


@pytest.mark.parametrize("path", FILES, ids=name)
def test_a_fixture_gives_the_findings_it_expects(path):
    found = differences(path.parent, [path], asked_for(code_of(path.parent)))
    assert not found, f"{name(path)}:\n" + "\n".join(found)


@pytest.mark.parametrize("root", PROJECTS, ids=name)
def test_a_project_gives_the_findings_it_expects(root):
    found = differences(root, root.rglob("*.py"))
    assert not found, f"{name(root)}:\n" + "\n".join(found)


@pytest.mark.parametrize("root", REFERENCES, ids=name)
def test_a_reference_project_gives_no_warning(root):
    files = list(root.rglob("*.py"))
    report = run(root, files)
    assert report.problems == ()
    assert report.files == len(files) >= 8
    warned = [f for f in report.findings if f.severity.at_least(Severity.WARNING)]
    assert not warned, "\n".join(f"{f.location.path}:{f.location.line} {f.code} {f.message}" for f in warned)


@pytest.mark.parametrize("path", sorted(FIXTURES.rglob("*.py")), ids=name)
def test_a_fixture_is_python_and_its_expectations_can_be_read(path):
    text = path.read_text(encoding="utf-8")
    compile(text, str(path), "exec", flags=ast.PyCF_ONLY_AST)
    if path.parent.name != "simulate":  # its marks are counts, which tests/runtime/simulated reads
        marks_of(path.parent, [path])


@pytest.mark.parametrize("folder", RULE_FOLDERS, ids=name)
def test_near_misses_expect_nothing(folder):
    assert marks_of(folder, [folder / "good.py"]) == ((), ())


def test_references_expect_nothing():
    for root in REFERENCES:
        assert marks_of(root, root.rglob("*.py")) == ((), ()), root


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x = 1\n", []),
        ("x = 1  # expect: TPL101\n", [(1, "TPL101", None)]),
        ("\nx = 1  # why  # expect: TPL101, TPL105\n", [(2, "TPL101", None), (2, "TPL105", None)]),
        ("x = 1  # noqa: TPL401  # expect: TPL001[warning]\n", [(1, "TPL001", "warning")]),
        ("x = '# expect: TPL101'\n", []),
        ("x = f(  # expect: TPL301\n    1,\n)\n", [(1, "TPL301", None)]),
    ],
)
def test_expectations_are_read_from_comments(text, expected):
    assert [entry[1:] for entry in marks_of_text(text, "x.py").findings] == expected


def test_related_places_are_read_from_comments():
    marks = marks_of_text("x = 1  # also: TPL201\n", "x.py")
    assert marks.findings == ()
    assert [entry[1:3] for entry in marks.related] == [(1, "TPL201")]


@pytest.mark.parametrize("comment", ["# expect: TPL1", "# expect: 101", "# expect TPL101", "# expect: TPL101[loud]"])
def test_a_misspelt_expectation_is_an_error(comment):
    with pytest.raises(ValueError, match=r"x\.py:1"):
        marks_of_text(f"x = 1  {comment}\n", "x.py")
