"""Masks of what a library's object computes from tensors on the device."""

from __future__ import annotations

import ast

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.indexing.masks import is_mask
from torchperf_lint.facts.values.value import Frame

CODE = """
    from splats import Rasterizer
    from local import shown

    def render(points: torch.Tensor, size, limit):
        rasterizer = Rasterizer(size)
        points = points.to("cuda")
        image, radii = {made}
        return {expression}
"""


def shown(expression, made="rasterizer(points=points, scale=size)"):
    files = texts(CODE.format(expression=expression, made=made))
    project = Project.of_texts(files)
    returns = [n for n in ast.walk(ast.parse(files["a.py"])) if isinstance(n, ast.Return)]
    node = max(returns, key=lambda n: n.lineno).value
    return is_mask(project.values, node, Frame("a.py", 1, (node.lineno, node.col_offset + 1)))


def test_what_is_compared_with_a_number_is_a_mask():
    assert shown("radii > 0")


def test_a_dict_that_a_call_spreads_tells_where_it_computes():
    assert shown("radii > 0", made="rasterizer(**{'points': points, 'scales': points.exp()})")


@pytest.mark.parametrize(
    ("expression", "made"),
    [
        ("radii > limit", "rasterizer(points=points)"),
        ("radii == 'none'", "rasterizer(points=points)"),
        ("radii > 0", "rasterizer(size)"),
        ("radii > 0", "rasterizer(points.cpu())"),
        ("radii > 0", "rasterizer(**{'points': points.cpu()})"),
        ("radii > 0", "rasterizer(**size)"),
        ("radii > 0", "shown(points)"),
        ("size > 0", "rasterizer(points=points)"),
    ],
)
def test_what_nobody_knows_is_none(expression, made):
    assert not shown(expression, made)
