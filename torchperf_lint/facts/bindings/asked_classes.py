"""What class a test asks for: `isinstance(x, list)`, `type(x) is dict`, `torch.is_tensor(x)`, `hasattr(x, "item")`."""

from __future__ import annotations

import ast

from torchperf_lint.facts.syntax.chains import chain
from torchperf_lint.facts.syntax.expressions_written import as_written

_OF_TENSORS = frozenset({"item", "detach", "cpu", "is_cuda", "requires_grad"})
"""What code asks for that takes tensors and plain numbers: `value.item() if hasattr(value, "item") else value`."""


def either_asked(test: ast.BoolOp) -> tuple[str, str]:
    """The name and all classes of `isinstance(x, float) or isinstance(x, int)`; empty where it asks something else."""
    asked = [classes_asked(part) for part in test.values]
    names = {chain(part.args[0]) for part in test.values if isinstance(part, ast.Call) and part.args}
    classes = [each for each in asked if each is not None]
    return (names.pop(), f"({', '.join(classes)})") if len(names) == 1 and len(classes) == len(asked) else ("", "")


def of_all(test: ast.expr) -> tuple[ast.expr, str]:
    """The test of each element in `all(isinstance(s, float) for s in sigma)`, and the chain of what holds them."""
    if not isinstance(test, ast.Call) or chain(test.func) != "all" or len(test.args) != 1:
        return test, ""
    made = test.args[0]
    if not isinstance(made, ast.GeneratorExp | ast.ListComp) or len(made.generators) != 1:
        return test, ""
    return made.elt, chain(made.generators[0].iter)


def exact_class_asked(test: ast.expr) -> tuple[str, str, bool] | None:
    """`type(x) == list`, `type(x) is not dict`, `type(x) in (list, tuple)`: of what, which, and whether it is asked
    to be one of them."""
    if not isinstance(test, ast.Compare) or len(test.ops) != 1 or not isinstance(test.left, ast.Call):
        return None
    if chain(test.left.func) != "type" or len(test.left.args) != 1:
        return None
    if not isinstance(test.ops[0], ast.Eq | ast.NotEq | ast.Is | ast.IsNot | ast.In | ast.NotIn):
        return None
    classes = as_written(test.comparators[0])
    if isinstance(test.comparators[0], ast.List):
        classes = f"({classes[1:-1]})"
    return chain(test.left.args[0]), classes, isinstance(test.ops[0], ast.Eq | ast.Is | ast.In)


def classes_asked(test: ast.expr) -> str | None:
    """The classes that `isinstance(x, classes)` or `torch.is_tensor(x)` asks for; None for other tests."""
    if not isinstance(test, ast.Call):
        return None
    asked = chain(test.func)
    if asked == "isinstance" and len(test.args) == 2:
        return as_written(test.args[1])
    if asked == "hasattr" and len(test.args) == 2:
        return "torch.Tensor" if isinstance(test.args[1], ast.Constant) and test.args[1].value in _OF_TENSORS else None
    return "torch.Tensor" if asked.rpartition(".")[2] == "is_tensor" and len(test.args) == 1 else None
