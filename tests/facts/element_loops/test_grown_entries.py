"""Entries of a list that a loop makes longer, each by its own."""

from __future__ import annotations

import ast

import pytest

from torchperf_lint.facts.element_loops.grown_entries import goes_through_entries, reads_entries

TARGET = ast.parse("kept[i]", mode="eval").body


@pytest.mark.parametrize(
    ("head", "through"),
    [
        ("for i in range(len(kept))", True),
        ("for i, new in enumerate(kept)", True),
        ("for i in range(len(parts))", False),
        ("for i in range(8)", False),
        ("for j in range(len(kept))", False),
        ("while i < len(kept)", False),
    ],
)
def test_a_loop_over_the_list_itself(head, through):
    loop = ast.parse(f"{head}:\n    pass\n").body[0]
    assert goes_through_entries(TARGET, loop) is through


@pytest.mark.parametrize(
    ("written", "goes"),
    [("self.kept[i]", False), ("kept[name, i]", False), ("kept", False), ("kept[0]", False)],
)
def test_only_entries_by_a_counter(written, goes):
    loop = ast.parse("for i in range(len(kept)):\n    pass\n").body[0]
    assert goes_through_entries(ast.parse(written, mode="eval").body, loop) is goes


@pytest.mark.parametrize(
    ("line", "read"),
    [
        ("kept[i] = cat([kept[i], y])", False),
        ("print(len(kept), kept is None)", False),
        ("y = model(x, kept)", True),
        ("y = kept[0]", True),
    ],
)
def test_what_reads_the_list(line, read):
    assert reads_entries(TARGET, ast.parse(f"for x in loader:\n    {line}\n").body[0]) is read
