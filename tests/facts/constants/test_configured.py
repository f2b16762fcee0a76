"""Which parameters are settings, and which hand on what a step is about."""

from __future__ import annotations

import ast
import re

import pytest
from snippets import IMPORTS

from torchperf_lint.facts.constants.configured import CONFIGURED, GIVEN, LITERAL, SHAPE, setting
from torchperf_lint.facts.constants.constants import constancy
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.values.value import Frame


def told(parameter, body="answer = 1"):
    """What the first parameter of a function is where its answer is computed."""
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    text = f"{IMPORTS}\ndef f({parameter}):\n{lines}\n"
    project = Project.of_texts({"a.py": text})
    found = project.body("a.py")
    node = next(n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Assign) and "answer" in ast.unparse(n))
    return setting(found, 1, re.match(r"\w+", parameter)[0], found.at(node))


@pytest.mark.parametrize(
    ("parameter", "kind"),
    [
        ("sigma", CONFIGURED),
        ("class_weights: list[float] | None = None", CONFIGURED),
        ("rope_interpolation_scale: tuple[float, float]", CONFIGURED),
        ("knots: Sequence[float]", None),
        ("coeffs: list[float]", None),
        ("image_size: tuple[int, int]", SHAPE),
        ("image_size", None),
        ("bev_h, bev_w", SHAPE),
        ("width, height", SHAPE),
        ("bev_h: int, bev_w", SHAPE),
        ("bev_h, bev_w: torch.Tensor", None),
        ("bev_h, image_w", None),
        ("bev_h, bev_w=None", None),
        ("h, w", None),
        ("sample_weights: list[float]", None),
        ("scores: list[float]", None),
        ("lengths: list[int]", None),
        ("knots: list[int]", None),
        ("knots", None),
        ("weights: torch.Tensor", None),
        ("color: str", None),
        ("knots: list[float] | torch.Tensor", None),
        ("sizes_by_name: dict[str, list[float]]", None),
    ],
)
def test_by_name_and_annotation(parameter, kind):
    assert told(parameter) == kind


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("if isinstance(knots, (tuple, list)):\n    answer = 1", CONFIGURED),
        ("if isinstance(knots, float):\n    answer = 1", CONFIGURED),
        ("if not isinstance(knots, list):\n    answer = 1", None),
        ("if isinstance(knots, torch.Tensor):\n    answer = 1", None),
        ("if isinstance(knots, list):\n    pass\nanswer = 1", None),
    ],
)
def test_by_what_a_test_tells(body, kind):
    assert told("knots", body) == kind


@pytest.mark.parametrize(("test", "kind"), [("isinstance", None), ("not isinstance", CONFIGURED)])
def test_a_setting_that_may_be_a_tensor_is_one_where_it_is_none(test, kind):
    assert told("alpha: float | torch.Tensor", f"if {test}(alpha, torch.Tensor):\n    answer = 1") == kind


HANDED = """
def f(x: torch.Tensor, sigma):
    if isinstance(sigma, tuple) and all(isinstance(s, (int, float)) for s in sigma):
        answer = {first}
    elif isinstance(sigma, tuple):
        answer = {second}
    return answer
"""


@pytest.mark.parametrize(("first", "second", "kind"), [("sigma", "0", GIVEN), ("x", "sigma", None)])
def test_what_is_left_where_numbers_were_dealt_with(first, second, kind):
    text = IMPORTS + HANDED.format(first=first, second=second)
    project = Project.of_texts({"a.py": text})
    node = next(
        n.value for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Assign) and ast.unparse(n.value) == "sigma"
    )
    assert constancy(project.values, node, Frame("a.py", 1, project.body("a.py").at(node))) == kind


LISTED = """
class M(nn.Module):
    def __init__(self, sizes: list[int], name: str):
        super().__init__()
        self.sizes, self.name = sizes, name

    def window(self, n, kind):
        return {window}

    def forward(self, x: torch.Tensor, n: int):
        rows = []
{body}
        answer = rows
        return answer
"""


def listed(body, window="[1.0] * n"):
    lines = "\n".join(f"        {line}" for line in body.splitlines())
    text = IMPORTS + LISTED.format(body=lines, window=window)
    project = Project.of_texts({"a.py": text})
    index = next(i for i, r in enumerate(project.index.outlines["a.py"].functions) if r.name == "forward")
    nodes = [
        n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Assign) and ast.unparse(n.targets[0]) == "answer"
    ]
    place = project.body("a.py").at(nodes[-1].value)
    return constancy(project.values, nodes[-1].value, Frame("a.py", index, place))


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("for size in self.sizes:\n    rows.append(1 / size)", CONFIGURED),
        ("for i in range(x.shape[0]):\n    rows += [i, i + 1]", SHAPE),
        ("for i in range(3):\n    for j in range(i):\n        rows.append(j)", LITERAL),
        ("for size in self.sizes:\n    if n:\n        rows.append(size)", None),
        ("for size in n:\n    rows.append(1)", None),
        ("while n:\n    rows.append(1)", None),
        ("for size in self.sizes:\n    rows.append(n)", None),
        ("rows.append(n)", None),
        ("for size in self.sizes:\n    rows.append(min(self.sizes, key=lambda s: abs(s - n)))", None),
        ("rows.extend(n)", None),
        ("for size in self.sizes:\n    rows.extend([i / size for i in range(3)])", CONFIGURED),
        ("if n:\n    rows.extend(self.sizes)", None),
        ("rows = [k for i, s in enumerate(self.sizes) for k in range(s)]", CONFIGURED),
        ("rows = [k for i, s in enumerate(n) for k in range(s)]", None),
        ("rows = list(range(4))\nrows.remove(self.sizes[0])", CONFIGURED),
        ("rows = list(range(4))\nrows.remove(n)", None),
        ("rows = self.window(self.sizes, 'flat')", CONFIGURED),
        ("rows = self.window(n, 'flat')", None),
        ("for size in self.sizes:\n    rows = size", CONFIGURED),
    ],
)
def test_lists_that_code_puts_together(body, kind):
    if body.endswith("rows = size"):
        body = body.replace("rows = size", "rows = size\n    answer = rows")
    assert listed(body) == kind


def test_what_a_helper_draws_is_different_each_time():
    assert listed("rows = self.window(self.sizes, 'flat')", "[random.random() for _ in n]") is None


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("for instances in n:\n    h, w = instances.image_size\n    rows = [w, h, w, h]", SHAPE),
        ("for meta in n:\n    h, w, _ = meta['img_shape']\n    rows = [w, h, w, h]", SHAPE),
        ("for meta in n:\n    h, w = meta['pad_shape'][:2]\n    rows = [h / 2, w / 2]", SHAPE),
        ("for target in n:\n    h, w = target['orig_size']\n    rows = [w, h, w, h]", None),
        ("for target in n:\n    h, w = target.image_sizes\n    rows = [w, h]", None),
        ("for instances in n:\n    rows = [instances.score, instances.label]", None),
        ("size = self.net(x)\nrows = [size.image_size.exp()]", None),
    ],
)
def test_sizes_of_images_that_records_hold(body, kind):
    first, _, last = body.rpartition("\n")
    indent = " " * (len(last) - len(last.lstrip()))
    assert listed(f"{first}\n{last}\n{indent}answer = rows") == kind
