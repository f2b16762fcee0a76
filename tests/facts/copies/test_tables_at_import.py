"""Entries of dicts of constants, moved in each call."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.copies.moves import repeated_move
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile

MODULE = """
    STATS = {"mean": torch.Tensor([0.1, 0.2]), "there": torch.ones(2, device="cuda"), "name": "x"}
    FILLED = {"mean": torch.ones(2)}
    FILLED["mean"] = torch.zeros(2)
    table = {"mean": torch.ones(2)}

    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = nn.Linear(2, 2)

        def forward(self, x: torch.Tensor, key, i: int):
            {before}
            return self.net(x - {moved}.to(x.device))
"""


@pytest.mark.parametrize(
    ("before", "moved", "found"),
    [
        ("pass", 'STATS["mean"]', True),
        ("pass", 'STATS["mean"][:, None]', True),
        ('mean = STATS["mean"][:, None, None]', "mean", True),
        ("pass", 'STATS["there"]', False),
        ("pass", "STATS[key]", False),
        ("pass", 'STATS["mean"][i]', False),
        ("pass", 'FILLED["mean"]', False),
        ("pass", 'table["mean"]', False),
        ('STATS["mean"] = x', 'STATS["mean"]', False),
        ('STATS = {"mean": x}', 'STATS["mean"]', False),
    ],
)
def test_entries_that_stay_on_the_host(before, moved, found):
    files = texts(MODULE.replace("{before}", before).replace("{moved}", moved))
    (site,) = SourceFile(Project.of_texts(files), "a.py", files["a.py"]).hot_calls("to")
    move = repeated_move(site)
    assert (move is not None and move.kind == "constant") is found
