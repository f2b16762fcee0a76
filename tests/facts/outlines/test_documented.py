"""Tensors that docstrings tell of: which parameters, whether one is given back, and what follows for hotness."""

from __future__ import annotations

import ast

import pytest
from snippets import hot_at, texts

from torchperf_lint.facts.bindings.documented_tensors import is_documented_tensor
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.outlines.documented import documented

GOOGLE = """
Rotate.

Args:
    points (torch.Tensor): of shape (n, 3)
    angle (float): how far
    mask (Tensor, optional): of shape (n,)

Returns:
    torch.Tensor: of shape (n, 3)
"""
NUMPY = """
Rotate.

Parameters
----------
points : `torch.Tensor`
    tensor of shape (n, 3)
angle : float
mask : torch.Tensor, optional

Returns
-------
`torch.Tensor`
    tensor of shape (n, 3)
"""
SPHINX = """
Rotate.

:param torch.Tensor points: of shape (n, 3)
:param angle: how far
:type mask: torch.Tensor
:rtype: torch.Tensor
"""
FUNCTION = 'def rotate(points, angle, mask=None):\n    """{doc}"""\n    return turn(points)  # <-\n'
OTHERS = """
Args:
    points (np.ndarray or torch.Tensor): of shape (n, 3)
    angle (list[torch.Tensor]): how far
    mask (torch.Tensor | list): some

Returns:
    list of torch.Tensor
"""


def told(source: str) -> list[str]:
    (function,) = ast.parse(source).body
    assert isinstance(function, ast.FunctionDef)
    return documented(function)


@pytest.mark.parametrize("doc", [GOOGLE, NUMPY, SPHINX], ids=["google", "numpy", "sphinx"])
def test_a_docstring_tells_of_tensors(doc):
    assert told(FUNCTION.format(doc=doc)) == ["points", "mask", "return"]


def test_what_may_be_something_else_is_no_tensor():
    assert told(FUNCTION.format(doc=OTHERS)) == []


def test_annotations_say_more_than_docstrings():
    source = FUNCTION.format(doc=GOOGLE).replace("points, angle", "points: np.ndarray, angle")
    assert told(source) == ["mask", "return"]


@pytest.mark.parametrize("says_nothing", ["Any", "typing.Any"])
def test_any_leaves_to_docstrings_what_is_meant(says_nothing):
    source = FUNCTION.format(doc=GOOGLE).replace("points, angle", f"points: {says_nothing}, angle")
    assert told(source) == ["points", "mask", "return"]


@pytest.mark.parametrize("doc", [GOOGLE, NUMPY, SPHINX], ids=["google", "numpy", "sphinx"])
def test_what_takes_a_documented_tensor_and_gives_one_is_an_operation(doc):
    found = hot_at(FUNCTION.format(doc=doc))
    assert found is not None
    assert "as its docstring says" in found.because


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("torch.Tensor: of shape", "float: of shape"),
        ("points (torch.Tensor)", "points (list)"),
        ("def rotate(", "def load_points("),
        ("def rotate(", "def __rotate("),
        ("points", "model"),
    ],
)
def test_other_documented_functions_are_not_known_to_be_hot(old, new):
    source = FUNCTION.format(doc=GOOGLE.replace("    mask (Tensor, optional): of shape (n,)\n", ""))
    assert hot_at(source.replace(old, new)) is None


def test_a_call_says_more_than_a_docstring():
    assert hot_at(FUNCTION.format(doc=GOOGLE) + "\n\ndef main():\n    rotate(1, 2)\n") is None


METHOD = '''
    class Ends(nn.Module):
        def forward(self, padded, end):
            """Adds the end.

            {says}
            """
            return padded
'''


def shown(says):
    project = Project.of_texts(texts(METHOD.format(says=says)))
    functions = project.index.outlines["a.py"].functions
    body = project.body("a.py")
    assert body is not None
    number = next(i for i, f in enumerate(functions) if f.name == "forward")
    return is_documented_tensor(body, number, "padded")


@pytest.mark.parametrize(
    "says",
    [
        ":param torch.Tensor padded: targets (B, L)",
        ":type padded: torch.Tensor",
        "padded (Tensor): targets",
        "padded (torch.LongTensor): targets",
        "padded (Tensor, optional): targets",
        "padded (:obj:`torch.Tensor`): targets",
        "padded (Tensor(N, C)): targets",
        "padded : torch.Tensor",
    ],
)
def test_documentation_names_a_tensor(says):
    assert shown(says)


@pytest.mark.parametrize(
    "says",
    [
        "padded (list[Tensor]): targets",
        "padded (Tensor | np.ndarray): targets",
        "padded (Tensor or list): targets",
        ":param padded: a Tensor or a list",
        ":type padded: list of torch.Tensor",
        "padded : tuple of Tensor",
        "end (Tensor): number",
        "nothing",
    ],
)
def test_documentation_that_says_less(says):
    assert not shown(says)
