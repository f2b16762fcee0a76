"""A step stands in sight of code that shares its file, or a class with it."""

from __future__ import annotations

import pytest
from calls_in import site_of

from torchperf_lint.facts.files.in_sight import steps_in_sight

LOOP = """
    def train(self, loader):
        for x, y in loader:
            self.step(x, y)
            self.optimizer.step()
"""
STEP = """
    def step(self, x, y):
        out = self.model(x.cuda())
        out.mean().backward()
        self.seen.append(out.cpu())
"""


def _class(name: str, *methods: str) -> str:
    return f"class {name}:" + "".join(methods)


FAR = {
    "estimator.py": "class Estimator:\n    def score(self, x):\n        return self.net(x.cuda()).cpu()\n",
    "attack.py": """
        from estimator import Estimator

        class Attack:
            def __init__(self):
                self.estimator = Estimator()

            def found(self, x):
                return self.estimator.score(x)

            def train(self, loader):
                for x in loader:
                    self.loss(self.found(x)).backward()
                    self.optimizer.step()
    """,
}
BELOW = {
    "base.py": _class("Base", LOOP),
    "own.py": "from base import Base\n\n" + _class("Own(Base)", STEP),
}


@pytest.mark.parametrize(
    ("files", "call", "in_sight"),
    [
        ({"a.py": _class("Own", LOOP, STEP)}, "out.cpu()", True),
        (BELOW, "out.cpu()", True),
        (FAR, "self.net(x.cuda()).cpu()", False),
    ],
)
def test_where_the_step_stands(files, call, in_sight):
    site = site_of(files, call)
    assert site.hot is not None
    assert steps_in_sight(site, site.hot) is in_sight


def test_who_runs_a_hook_is_not_seen():
    site = site_of(
        """
        class Call(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return send(x.cpu())
        """,
        "x.cpu()",
    )
    assert site.hot is not None
    assert not steps_in_sight(site, site.hot)
