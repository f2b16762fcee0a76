"""A number that only says whether there is something to divide by decides nothing else."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.reads.consequences import DECIDES, DIVIDES, RECORDS, consequence

STEP = """
    def train(net, loader, optimizer, rows):
        for x in loader:
            loss = net(x.cuda()).mean()
            loss.backward()
            optimizer.step()
            n = (x > 0).sum().item()
            {then}
    """


@pytest.mark.parametrize(
    ("then", "expected"),
    [
        ("rows.append(loss / n if n > 0 else 0.0)", DIVIDES),
        ("rows.append(0.0 if n == 0 else loss / n)", DIVIDES),
        ("rows.append(loss / n)", RECORDS),
        ("rows.append(loss / n if n > 3 else 0.0)", DECIDES),
        ("rows.append(loss / n if n > 0 else net(x))", DECIDES),
        ("rows.append(loss / n if n > 0 else 0.0) or x[:n]", DECIDES),
    ],
)
def test_what_a_number_decides(then, expected):
    files = texts(STEP.format(then=then))
    (site,) = SourceFile(Project.of_texts(files), "a.py", files["a.py"]).hot_calls("item")
    assert consequence(site) == expected
