"""Branches of options that are off by default."""

from __future__ import annotations

import ast

import pytest
from snippets import texts

from torchperf_lint.facts.constants.switched_on import is_switched_on
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.files.spots import hot_nodes

CODE = """
    class Net(nn.Module):
        def __init__(self, margin=-1, weight=1.0, depth=0, *, scale=0.0, sparse=False):
            super().__init__()
            self.margin, self.weight, self.depth, self.scale = margin, weight, depth, scale
            self.sparse = sparse

        def forward(self, x: torch.Tensor, cfg: dict, labels=None, label_map=None):
            x = x.cuda()
            if {test}:
                y = x[0]
            else:
                y = 0
            return y
"""


@pytest.mark.parametrize(
    ("test", "off"),
    [
        ('cfg.get("sparse", False)', True),
        ('cfg.get("sparse", False) and x', True),
        ('cfg.get("sparse", False) or x', False),
        ('not cfg.get("sparse", False)', False),
        ('cfg.get("sparse", True)', False),
        ('cfg.get("sparse")', False),
        ("self.margin > 0", True),
        ("self.scale > 0", True),
        ("self.depth > 0", True),
        ("self.depth > -1", False),
        ("self.weight > 0", False),
        ("self.margin < 0", False),
        ("self.other > 0", False),
        ("x.sum() > 0", False),
        ("label_map is not None", True),
        ("labels is not None", False),
        ("self.sparse", True),
        ("not self.sparse", False),
    ],
)
def test_what_nobody_asks_for_by_default(test, off):
    files = texts(CODE.format(test=test))
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    spot = next(s for s in hot_nodes(file, ast.Subscript))
    assert is_switched_on(spot) is off


MADE = """
    def make(cfg):
        return Net({given})

    FINE = dict(margin={written}, other=3.0)
"""


@pytest.mark.parametrize(
    ("given", "written", "off"),
    [
        ("margin=0.5", "-1", False),
        ("0.5", "-1", False),
        ("margin=-1", "0.5", True),
        ("margin=cfg.margin", "0.5", True),
        ("**cfg", "1e-4", False),
        ("weight=2.0, **cfg", "1e-4", False),
        ("**cfg", "0", True),
        ("weight=2.0", "1e-4", True),
    ],
)
def test_what_is_off_until_who_makes_the_object_gives_more(given, written, off):
    files = texts({"a.py": CODE.format(test="self.margin > 0"), "b.py": "from a import Net\n"})
    files["b.py"] += texts(MADE.format(given=given, written=written), imports="")["a.py"]
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    spot = next(s for s in hot_nodes(file, ast.Subscript))
    assert is_switched_on(spot) is off
