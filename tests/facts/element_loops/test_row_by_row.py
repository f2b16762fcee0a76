"""Reads in functions that a loop calls with one row after the other."""

from __future__ import annotations

from textwrap import indent

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.reads.reads import conversion_readings, copy_readings, item_readings

TEXT = """\
def fetch(t, limit):
{read}


class Sampler(nn.Module):
    def forward(self, x: torch.Tensor, groups, lists):
        x = x.cuda()
        found = []
{call}
        return self.fill(found)
"""


def wholes(read, call):
    """What the reads of the helper could be made of at once."""
    files = texts(TEXT.format(read=indent(read, " " * 4), call=indent(call, " " * 8)))
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    readings = (*item_readings(file), *conversion_readings(file), *copy_readings(file))
    again = [r.read.repeated for r in readings if file.outline.functions[r.site.function].name == "fetch"]
    return [file.source(found.whole) for found in again if found is not None]


PLAIN = "return t.tolist()"
DRAWN = "ids = torch.multinomial(t, 1)\nreturn ids.tolist()"


@pytest.mark.parametrize("read", [PLAIN, DRAWN, "return torch.argmax(t, -1).tolist()"])
@pytest.mark.parametrize(
    "call",
    [
        "for i in range(len(groups)):\n    found.append(fetch(x[i], 3))",
        "for row in x:\n    found.append(fetch(row, 3))",
        "found = [fetch(row, 3) for row in x]",
        "at = 0\nfor group in groups:\n    n = len(group)\n    part = x[at : at + n]\n    at += n\n"
        "    found.append(fetch(part, 3))",
        "for i, group in enumerate(groups):\n    part, k = x[i], 3\n    found.append(fetch(part, k))",
    ],
)
def test_a_loop_hands_over_row_by_row(read, call):
    assert wholes(read, call) == ["x"]


@pytest.mark.parametrize(
    ("read", "call"),
    [
        (PLAIN, "found.append(fetch(x, 3))"),
        (PLAIN, "for i in range(len(groups)):\n    x = self(x)\n    found.append(fetch(x[i], 3))"),
        (PLAIN, "for i in range(4):\n    found.append(fetch(x[i], 3))"),
        (PLAIN, "for group in groups:\n    found.append(fetch(x[group], 3))"),
        (PLAIN, "at = 0\nfor group in groups:\n    ids = fetch(x[at], 3)\n    at = ids[0]"),
    ],
)
def test_other_calls_stay_single(read, call):
    assert wholes(read, call) == []
