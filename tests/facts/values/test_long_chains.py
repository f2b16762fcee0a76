"""Values at the end of many bindings, one made of the other."""

from __future__ import annotations

import sys

import pytest
from snippets import value_of

from torchperf_lint.facts.values import calls

CHAIN = 400


def _chain(step: str) -> str:
    lines = "\n".join(f"    x{n + 1} = {step.format(f'x{n}')}" for n in range(CHAIN))
    return f"import torch\n\n\ndef forward(a):\n    x0 = torch.zeros(3)\n{lines}\n    return x{CHAIN}\n"


@pytest.mark.parametrize("step", ["{0} * 2", "{0}.abs().exp()", "torch.relu({0}) + {0}", "((({0} + 1) * 2) - 3) / {0}"])
def test_what_is_made_of_it_far_below_is_known(step: str) -> None:
    before = sys.getrecursionlimit()
    assert value_of(_chain(step), f"x{CHAIN}").kind == "tensor"
    assert sys.getrecursionlimit() == before


def test_a_list_made_of_itself_ends() -> None:
    source = """
        import torch

        def forward(x):
            rows = []
            for i in range(3):
                rows.append(y)
                y = torch.stack(rows)
                rows += [y]
            return rows[0]
    """
    assert value_of(source, "rows[0]").kind in ("tensor", "unknown")


@pytest.mark.parametrize("begun", ["for out in loader:", "for _ in loader:\n        out = {'x': torch.zeros(3)}"])
def test_entries_made_of_several_reads_of_the_one_above_end(begun: str) -> None:
    step = "        out['x'] = (out['x'] - out['x'].mean()) / out['x'].std() * out['x']\n"
    end = "        out['x'] = out['x'].to('cuda')\n        print(out['x'].mean())\n"
    source = f"def train(loader: DataLoader):\n    {begun}\n{step * 30}{end}"
    assert value_of(source, "out['x'].mean()").kind == "tensor"


def test_a_function_that_a_literal_settles_and_that_calls_itself_ends() -> None:
    source = """
        import numpy as np
        import torch

        def converted(data, wrapped=False, track=False):
            if isinstance(data, torch.Tensor):
                return data.as_subclass(Meta) if track else data
            if isinstance(data, np.ndarray):
                return torch.as_tensor(data)
            if isinstance(data, list):
                held = [converted(x, wrapped=False, track=track) for x in data]
                return converted(held, wrapped=False, track=False) if wrapped else held
            if isinstance(data, dict):
                return {k: converted(v, wrapped=False, track=track) for k, v in data.items()}
            return data

        def forward(x):
            y = converted(x, wrapped=False, track=False)
            return y
    """
    assert value_of(source, "y").kind in ("tensor", "unknown", "sequence")


def test_a_call_is_looked_at_once_however_many_names_take_its_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at, of_call = [], calls.value_of_call
    monkeypatch.setattr(calls, "value_of_call", lambda *asked: looked_at.append(asked) or of_call(*asked))
    source = """
        def forward(x):
            a, b, c = torch.zeros(3), torch.ones(3), torch.split(torch.zeros(3), 1)
            d, e, f = a.unbind()
            return d + e + f
    """
    assert value_of(source, "d + e + f").kind == "tensor"
    assert len({asked[1:] for asked in looked_at}) == len(looked_at)
