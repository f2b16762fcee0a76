"""Arrays and numpy's scalars, and lists of arrays."""

from __future__ import annotations

import ast
from textwrap import dedent, indent

import pytest
from snippets import IMPORTS

from torchperf_lint.facts.copies.observations import holds_observations
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.values.ndarrays import holds_arrays, is_array
from torchperf_lint.facts.values.value import Frame

TEXT = """
import cv2

def loaded(path):
    return np.load(path)

def either(path):
    if path:
        return np.zeros(3)
    return path

def pairs(rows):
    tables, labels = [], []
    for row in rows:
        tables.append(np.eye(8)[row])
        labels.append(row)
    return tables, labels

def listed(rows):
    return [np.load(row) for row in rows]

def f(a: np.ndarray, t: torch.Tensor, rows, n):
{body}
    return answer
"""


def asked(body, function):
    text = IMPORTS + TEXT.format(body=indent(dedent(body).strip(), " " * 4))
    project = Project.of_texts({"a.py": text})
    found = project.body("a.py")
    nodes = [
        n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Assign) and ast.unparse(n.targets[0]) == "answer"
    ]
    outline = project.index.outlines["a.py"]
    index = next(i for i, record in enumerate(outline.functions) if record.name == "f")
    return function(project.values, nodes[-1].value, Frame("a.py", index, found.at(nodes[-1].value)))


@pytest.mark.parametrize(
    "expression",
    [
        "np.zeros(3)",
        "np.stack(rows)",
        "np.asarray(n)",
        "np.random.rand(3)",
        "np.random.normal(0, 1, 8)",
        "np.random.uniform(size=3)",
        "np.zeros(3).astype(int)",
        "np.zeros(3) * n",
        "np.clip(a, 0, 1)",
        "a.mean(axis=0)",
        "np.sum(a, axis=1)",
        "a[1:]",
        "a[:, 0]",
        "a",
        "a.T",
        "t.numpy()",
        "t.detach().cpu().numpy()",
        "cv2.imread(n)",
        "loaded(n)",
        "np.eye(8)[n]",
        "a if n else np.ones(2)",
        "np.arctan2(a, a) * n",
        "n * (n / (np.sin(np.sqrt(a**2 + a**2) * n / n + n) / n / n))",
    ],
)
def test_an_array(expression):
    assert asked(f"answer = {expression}", is_array)


@pytest.mark.parametrize(
    "expression",
    [
        "n",
        "rows[0]",
        "np.eye(8)[n, 1]",
        "a[0]",
        "a.mean()",
        "np.sum(a)",
        "np.cos(n)",
        "np.arctan2(n, n)",
        "np.pi",
        "np.random.rand()",
        "np.random.randint(0, 8)",
        "np.float32(1.0)",
        "a.shape",
        "a.tolist()",
        "t",
        "n.numpy()",
        "either(n)",
        "a if n else n",
        "[a]",
    ],
)
def test_no_array_as_far_as_anyone_knows(expression):
    assert asked(f"answer = {expression}", is_array) is None


@pytest.mark.parametrize(
    "body",
    [
        "answer = [a, a]",
        "answer = [np.load(p) for p in rows]",
        "answer = list(np.load(p) for p in rows)",
        "arrays = [np.load(p) for p in rows]\nanswer = arrays",
        "arrays = []\nfor p in rows:\n    arrays.append(np.load(p))\nanswer = arrays",
        "arrays = [np.load(p) for p in rows]\nanswer = [x[1:] for x in arrays]",
        "tables, labels = pairs(rows)\nanswer = tables",
        "answer = listed(rows)",
    ],
)
def test_a_list_of_arrays(body):
    assert asked(body, holds_arrays) is not None


@pytest.mark.parametrize(
    "body",
    [
        "answer = []",
        "answer = [a, n]",
        "answer = [n for n in rows]",
        "answer = [t, t]",
        "answer = rows",
        "arrays = []\nanswer = arrays",
        "tables, labels = pairs(rows)\nanswer = labels",
        "tables, labels = n, rows\nanswer = labels",
        "arrays = [a]\narrays.append(n)\nanswer = arrays",
        "arrays = [a]\narrays.extend(rows)\nanswer = arrays",
        "arrays = [a]\nif n:\n    arrays = rows\nanswer = arrays",
    ],
)
def test_no_list_of_arrays_as_far_as_anyone_knows(body):
    assert asked(body, holds_arrays) is None


@pytest.mark.parametrize(
    ("expression", "held"),
    [
        ("[item.state for item in rows]", True),
        ("[next_obs for next_obs in rows]", True),
        ("[item.reward for item in rows]", False),
        ("[item.state_dict for item in rows]", False),
    ],
)
def test_observations_by_their_name(expression, held):
    assert (asked(f"answer = {expression}", holds_observations) is not None) is held
