"""What nothing shows to be hot is there for those who ask: lines marked `# possible: TPL101` in fixtures."""

from __future__ import annotations

import re

import pytest
from expectations import RULE_FOLDERS, run

from torchperf_lint.model import Confidence
from torchperf_lint.settings import Settings

_MARK = re.compile(r"# possible: (TPL\d{3})$")
MARKED = {
    folder: {(n, found[1]) for n, line in enumerate(lines, 1) if (found := _MARK.search(line))}
    for folder in RULE_FOLDERS
    if (lines := (folder / "bad.py").read_text(encoding="utf-8").splitlines())
}


def test_there_are_such_lines():
    assert sum(map(len, MARKED.values())) >= 7


@pytest.mark.parametrize("folder", [f for f, marks in MARKED.items() if marks], ids=lambda folder: folder.name)
def test_a_marked_line_is_possible_and_hidden_by_default(folder):
    bad = folder / "bad.py"
    every = run(folder, [bad], Settings(confidence=Confidence.POSSIBLE)).findings
    told = {(f.location.line, f.code): f.confidence for f in every}
    assert {mark: told.get(mark) for mark in MARKED[folder]} == dict.fromkeys(MARKED[folder], Confidence.POSSIBLE)
    shown = {(f.location.line, f.code) for f in run(folder, [bad]).findings}
    assert not shown & MARKED[folder]
