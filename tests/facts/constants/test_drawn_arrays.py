"""Random numbers that numpy draws of nothing but numbers: the device can draw them itself."""

import ast

import pytest
from snippets import texts

from torchperf_lint.facts.constants.drawn_arrays import drawn_array
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.values.value import Frame


def drawn(expression, before="", after=""):
    """What is said of the argument of `take(...)`."""
    lines = [*before.splitlines(), f"take({expression})", *after.splitlines()]
    text = "def f(x, scores, n, rng):\n" + "".join(f"    {line}\n" for line in lines)
    project = Project.of_texts(texts(text))
    body = project.body("a.py")
    (call,) = (c for c in ast.walk(body.functions[1]) if isinstance(c, ast.Call) and ast.unparse(c.func) == "take")
    return drawn_array(project.values, call.args[0], Frame("a.py", 1, body.at(call.args[0])))


@pytest.mark.parametrize(
    ("expression", "there"),
    [
        ("np.random.normal(0, 1, (x.shape[0], 100))", "torch.randn"),
        ("np.random.randn(8, 4).astype(np.float32)", "torch.randn"),
        ("np.random.rand(n, 1)", "torch.rand"),
        ("np.random.random((n, 1, 1, 1))", "torch.rand"),
        ("np.random.uniform(-1, 1, size=(n, 3))", "torch.rand"),
        ("np.random.randint(0, 10, n)", "torch.randint"),
        ("np.random.permutation(100)", "torch.randperm"),
        ("0.1 * np.random.randn(8, 4).reshape(-1)", "torch.randn"),
    ],
)
def test_numbers_that_numpy_draws(expression, there):
    assert drawn(expression) == there


@pytest.mark.parametrize(
    "expression",
    [
        "np.random.normal(0, 1)",  # one number
        "np.random.rand()",
        "np.random.uniform(0, 1)",
        "np.random.normal(np.mean(scores, 0), 1, (8, 4))",  # around what the host has
        "np.random.choice(scores, 8)",  # elements
        "np.random.permutation(np.array(scores))",
        "rng.normal(0, 1, (8, 4))",  # a generator of one's own
        "scores * np.random.randn(8, 4)",
        "np.zeros((8, 4))",
        "np.random.normal(*scores)",
    ],
)
def test_what_the_device_cannot_draw_alike(expression):
    assert drawn(expression) is None


def test_a_name_is_what_it_is_bound_to_if_nothing_else_uses_it():
    before = "noise = np.random.randn(8, 4)"
    assert drawn("noise", before) == "torch.randn"
    assert drawn("noise", before, "scores.append(noise)") is None
    assert drawn("noise", f"{before}\nif n:\n    noise = scores") is None


def test_what_is_drawn_before_a_loop_stays_the_same_in_it():
    before = "order = np.random.permutation(784)\nfor y in x:\n    pass"
    assert drawn("order", before) == "torch.randperm"
    inside = "order = np.random.permutation(784)\nfor y in x:\n    take(order)"
    assert drawn("1", inside.replace("take(order)", "scores.append(y)")) is None
    text = "def f(x):\n    order = np.random.permutation(784)\n    for y in x:\n        take(order)\n"
    project = Project.of_texts(texts(text))
    body = project.body("a.py")
    (call,) = (c for c in ast.walk(body.functions[1]) if isinstance(c, ast.Call) and ast.unparse(c.func) == "take")
    assert drawn_array(project.values, call.args[0], Frame("a.py", 1, body.at(call.args[0]))) is None


def test_a_second_name_is_a_second_use():
    assert drawn("noise", "noise = kept = np.random.randn(8, 4)") is None
