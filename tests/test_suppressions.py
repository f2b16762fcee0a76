import textwrap

import pytest

from torchperf_lint.facts.files.suppressions import has_markers, parse


def _silenced(comment: str, code: str = "TPL101") -> bool:
    return parse(f"x = loss.item()  {comment}\n").matching(1, 1, code) is not None


@pytest.mark.parametrize(
    "comment",
    [
        "# noqa",
        "# NOQA",
        "#noqa",
        "# noqa : the colon does not follow, so this is a blanket one",
        "# noqa: words without a code are a blanket one, as in flake8",
        "# noqa: TPL101",
        "# noqa:TPL101",
        "#noqa:TPL101",
        "# NoQA: tpl101",
        "# noqa: E501,TPL101",
        "# noqa: E501 TPL101",
        "# noqa: E501, TPL101 for the log",
        "# noqa: TPL1",
        "# type: ignore # noqa: TPL101",
        "# a reason, then # noqa: TPL101",
        "# torchperf-lint: ignore",
        "# torchperf-lint: ignore because",
        "# torchperf-lint: ignore[TPL101]",
        "#torchperf-lint:ignore[TPL101]",
        "# torchperf-lint: ignore [TPL105, TPL101] once an epoch",
        "# Torchperf-Lint: Ignore[tpl1]",
        "# noqa: E501 # torchperf-lint: ignore[TPL101] reason",
    ],
)
def test_silences(comment: str) -> None:
    assert _silenced(comment)


@pytest.mark.parametrize(
    "comment",
    [
        "# no qa",
        "# noqa: E501",
        "# noqa: TPL105",
        "# noqa: TPL1010",
        "# torchperf-lint: ignore[TPL105]",
        "# torchperf-lint: ignore[]",
        "# torchperf-lint: ignored",
        "# torchperf-lint: disable",
        "# torchperf-lint: ignore-file",
        "# flake8: noqa",
        "# ruff: noqa",
    ],
)
def test_does_not_silence(comment: str) -> None:
    assert not _silenced(comment)


@pytest.mark.parametrize(
    ("comment", "silenced"),
    [
        ("# flake8: noqa", {"TPL101", "TPL301"}),
        ("# Flake8:NOQA", {"TPL101", "TPL301"}),
        ("# flake8=noqa", {"TPL101", "TPL301"}),
        ("# flake8: noqa: TPL101", {"TPL101"}),
        ("    # torchperf-lint: ignore-file", {"TPL101", "TPL301"}),
        ("# torchperf-lint: ignore-file[TPL3] written once", {"TPL301"}),
    ],
)
def test_whole_file(comment: str, silenced: set[str]) -> None:
    found = parse(f"import torch\nx = 1\n{comment}\n")
    assert {code for code in ("TPL101", "TPL301") if found.matching(1, 1, code)} == silenced
    assert all(marker.whole_file for marker in found.all)


def test_first_or_last_line_of_the_finding() -> None:
    found = parse("f(\n  a,  # noqa: TPL101\n  b,\n)\n")
    assert found.matching(2, 4, "TPL101")
    assert found.matching(1, 2, "TPL101")
    assert not found.matching(1, 4, "TPL101")
    assert not found.matching(3, 3, "TPL101")


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_a_comment_behind_a_string_of_several_lines_speaks_for_all_of_it(newline: str) -> None:
    source = (
        'log(f"""\n{loss.item()}\n""")  # noqa: TPL101\ny = 1 + \\\n  loss.item() + \\\n  2  # noqa: TPL105\nz = 1\n'
    )
    found = parse(source.replace("\n", newline))
    assert [line for line in range(1, 8) if found.matching(line, line, "TPL101")] == [1, 2, 3]
    assert [line for line in range(1, 8) if found.matching(line, line, "TPL105")] == [4, 5, 6]


def test_strings_are_no_comments() -> None:
    source = textwrap.dedent(
        '''
        a = "# noqa"
        b = '\\'# noqa'
        c = """
        # flake8: noqa
        "" # torchperf-lint: ignore-file
        """
        d = r"\\"  # noqa: TPL105
        '''
    )
    assert [(marker.line, marker.codes) for marker in parse(source).all] == [(8, ("TPL105",))]


def test_lines_and_columns_are_code_points() -> None:
    found = parse('é = "🙂\x0c"  # noqa: E501, TPL101 why\n').all[0]
    assert (found.line, found.column, found.end_column) == (1, 11, 31)
    assert found.codes == ("E501", "TPL101")
    assert found.span("TPL101") == (25, 31)
    assert found.span(None) == (11, 31)


def test_the_text_may_be_broken() -> None:
    source = "x = (\n'''\n# noqa\n"
    assert parse(source).all == ()
    assert parse("x = 'open  # noqa\ny = [  # noqa: TPL101\n").matching(2, 2, "TPL101")


def test_ours_are_what_may_be_called_unused() -> None:
    source = textwrap.dedent(
        """
        a = 1  # noqa
        b = 1  # noqa: E501,TPL101,TPL1,TPL101
        c = 1  # torchperf-lint: ignore
        d = 1  # torchperf-lint: ignore[TPL105, TYPO] reason
        # flake8: noqa: TPL401, F401
        """
    )
    found = [(marker.line, code) for marker, code in parse(source).ours()]
    assert found == [(3, "TPL101"), (3, "TPL1"), (4, None), (5, "TPL105"), (5, "TYPO"), (6, "TPL401")]


def test_matches_tells_every_entry_that_was_used() -> None:
    found = parse("# torchperf-lint: ignore-file[TPL1]\nx = 1  # noqa: TPL105, TPL101\n")
    assert [(marker.line, entry) for marker, entry in found.matches(2, 2, "TPL101")] == [(1, "TPL1"), (2, "TPL101")]


def test_texts_without_the_words_are_not_scanned() -> None:
    assert not has_markers("x = 1  # type: ignore\n")
    assert has_markers("x = 1  # NoQA\n")
    assert has_markers("x = 1  # TORCHPERF-LINT: ignore\n")
    assert parse("x = 1\n").all == ()
