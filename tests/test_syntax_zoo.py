"""Every rule looks at code in forms that few people write, and none crashes."""

from __future__ import annotations

import ast
import json
import random
import sys
from pathlib import Path

import pytest

from torchperf_lint.lint import Target, lint
from torchperf_lint.model import Confidence
from torchperf_lint.settings import Settings

FIXTURES = sorted((Path(__file__).parent.parent / "fixtures").glob("tpl*/*.py"))
ZOO = """\
import torch, numpy as np
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Net(nn.Module):
    def __init__(self, *sizes, k=(lambda *a, **b: a)(), **more):
        super().__init__()
        [] = self.parts = torch.zeros(3)
        (self.a, *self.rest), self["b"].c = sizes, *more
        self.d = self.e = self.f = None; self.g: nn.Module
        self.t, (self.u, [self.v]) = torch.zeros(()), (1, [torch.ones(*sizes, **more)])

    @property
    @(lambda f: f)
    async def forward(self, x, /, y=..., *, z: "torch.Tensor | None" = None):
        async with x as (p, [q]), y() as self.o:
            async for () in x[()]:
                await (x := x[...][()].item())
            else:
                return {**y, "k": x}, [*x], f"{x!r:>{z}}"
        mask = torch.zeros(x.shape[0]); mask[()] = 1; mask[[]] = 2; x[mask, *y] = mask[None, ()]
        return (yield), lambda: (yield x.cuda().item())


class Small(nn.Module):
    def __init__(self):
        [] = self.parts = torch.zeros(3)
        () = self.a, *self.b = f()

    def forward(self, x: torch.Tensor):
        for i in range(len(x)):
            self.a(x[()], x[i][()], i[()])
        return x * self.parts.to(x.device) + self.a.item() + self.b[0].item()


class Data(Dataset, metaclass=type, key=3):
    def __getitem__(self, index, /): return [t.item() for t in (r := index) if (t := t) for t in t]


def train(loader=DataLoader(*[], **{}), *, net=Net, optimizer=torch.optim.SGD([])):
    while net(loader) and (loss := net(*loader, **loader)) is not None:
        for loader[0], net.x in zip(*loader), enumerate():
            for i, (a, *b) in enumerate(*loader, start=1):
                loss += float(a @ b[-1:, ..., None]) if a < b < i else -~a
                try: optimizer.step(*(), **{}); loss.backward(**loader); del a[()], b, i
                except* (ValueError, TypeError) as error: raise error from loss.item()
                finally: continue
        match loader:
            case {"a": [x, *rest], **others} if x.item(): print(x, rest, others)
            case Net(0, y=None) | [1.5, "a"] | -1: break
            case torch.float32 as found: found.cuda().cpu().numpy()
            case _: pass
    else: optimizer.zero_grad(*loader)
    torch.tensor(); torch.zeros(); x.to(); x.cuda(*loader).cpu(**loader); DataLoader(); nn.Linear(); print(*loader)
    torch.cat(()); torch.stack(*[]); np.array().item(); x.item(1, 2); float(); int(*x); if_ = x() if x else x.y.z()
    return torch.compile(), torch.compile(*net)(), torch.load(), torch.save(), range()[0], x[:][()](), (yield from x)
"""
GENERIC = (
    "\ntype Pair[T] = tuple[T, T]\ndef f[T: int, *Ts, **P](x: T) -> T: return x.item()\nclass C[T](nn.Module): pass\n"
)
ODD = """(y := x)|lambda *a, k=1, **z: (a, z)|[*x, *y]|{**x, 'k': y}|...|x[()]|x[::2, ..., None]|x[y][z](w)(v)
f'{x!r:>{w}}'|b''|-1|(x if y else z)|{i: j for i, j in x}|x @ y|10**400|x()|x(*y, **z)|x < y < z|[]|{}|()|x[-1:]"""
TARGETS = "x[0]|x.y|x[i][j]|(a, (b, *c))|[]|x[i:j, k]|f(x).y".split("|")


def crashes(directory: Path) -> set[tuple[str, str]]:
    settings = Settings(select=("TPL",), no_cache=True, jobs=1, confidence=Confidence.POSSIBLE)
    found = lint(Target(directory, settings, tuple(sorted(directory.glob("*")))))
    return {(str(p.rule), p.reason) for p in found.problems}


@pytest.mark.parametrize("start", ["", "\ufeff", "\n\x0c\n", "# only a comment\n\n", "'''text'''\n"])
def test_every_rule_looks_at_strange_code(tmp_path: Path, start: str) -> None:
    zoo = ZOO if sys.version_info >= (3, 11) else ZOO.replace("except*", "except").replace(", *y] =", "] =")
    (tmp_path / "zoo.py").write_text(start + zoo + (GENERIC if sys.version_info >= (3, 12) else ""), encoding="utf-8")
    (tmp_path / "empty.py").write_text(start, encoding="utf-8")
    assert crashes(tmp_path) == set()


def test_a_notebook_of_strange_code(tmp_path: Path) -> None:
    cells = ["%%bash\nls", "!pip install x\n%time x = f()\nx?", "a = !ls\n%matplotlib inline", "await x.item()", ""]
    plain = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None}
    written = [{**plain, "source": cell} for cell in [*cells, "for x in loader:\n    x.cuda().item()"]]
    notebook = {"cells": written, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (tmp_path / "a.ipynb").write_text(json.dumps(notebook))
    assert crashes(tmp_path) == set()


class Odd(ast.NodeTransformer):
    """Puts odd expressions, arguments and targets in a tree, a few in a hundred, the same for the same seed."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.odd = ODD.replace("\n", "|").split("|")

    def expression(self) -> ast.expr:
        return ast.parse(self.chance.choice(self.odd), mode="eval").body

    def generic_visit(self, node: ast.AST) -> ast.AST:
        node = super().generic_visit(node)
        drawn = self.chance.random()
        loaded = isinstance(getattr(node, "ctx", ast.Load()), ast.Load)
        if isinstance(node, ast.Call) and drawn < 0.08:
            node.args = [self.expression() for _ in range(self.chance.randrange(3))]
            node.keywords = [ast.keyword(None, self.expression())] if drawn < 0.02 else node.keywords
        elif isinstance(node, ast.Assign | ast.For) and drawn < 0.15:
            target = ast.parse(self.chance.choice(TARGETS), mode="eval").body
            for part in (n for n in ast.walk(target) if hasattr(n, "ctx")):
                part.ctx = ast.Store()
            node.targets, node.target = [target], target
        elif isinstance(node, ast.expr) and loaded and not isinstance(node, ast.FormattedValue) and drawn < 0.03:
            return self.expression()
        return node


@pytest.mark.parametrize("seed", [1, 2])
def test_no_rule_crashes_on_its_own_examples_with_odd_parts(tmp_path: Path, seed: int) -> None:
    for n, fixture in enumerate(FIXTURES[seed::20]):
        tree = Odd(seed).visit(ast.parse(fixture.read_text(encoding="utf-8")))
        try:
            text = ast.unparse(ast.fix_missing_locations(tree))
            ast.parse(text)
        except (SyntaxError, ValueError, TypeError):
            continue
        (tmp_path / f"f{n}.py").write_text(text, encoding="utf-8")
    assert list(tmp_path.glob("*.py"))
    assert crashes(tmp_path) == set()
