"""Numbers that the host counts out, and a factory makes on the device, too: `range(n)`, `np.arange(n)`, `np.eye(k)`."""

from __future__ import annotations

import ast

from torchperf_lint.facts.chains import chain
from torchperf_lint.facts.value import Frame
from torchperf_lint.facts.values import Values

_FACTORIES = {
    "builtins.range": "arange",
    "numpy.arange": "arange",
    "numpy.linspace": "linspace",
    "numpy.eye": "eye",
    "numpy.identity": "eye",
}
"""What counts on the host -> what torch calls the same."""
_KEEP = frozenset({"astype", "copy", "flatten", "ravel"})
"""Methods of arrays that leave the numbers what they are."""
_LISTS = frozenset({"list", "tuple", "np.array", "numpy.array", "np.asarray", "numpy.asarray"})


def generated_by(values: Values, node: ast.expr, frame: Frame) -> str | None:
    """The factory of torch that makes what an expression counts out on the host; None for other numbers."""
    while isinstance(node, ast.Call):
        if isinstance(node.func, ast.Attribute) and node.func.attr in _KEEP:
            node = node.func.value
        elif chain(node.func) in _LISTS and node.args:
            node = node.args[0]
        else:
            break
    if isinstance(node, ast.ListComp) and _is_counter(node):
        node = node.generators[0].iter
    if not isinstance(node, ast.Call) or not node.args or any(isinstance(a, ast.Starred) for a in node.args):
        return None
    thing = values.thing(node.func, frame)
    return _FACTORIES.get(thing.dotted) if thing is not None and thing.kind == "external" else None


def _is_counter(node: ast.ListComp) -> bool:
    """`[i for i in range(n)]`."""
    only = node.generators[0] if len(node.generators) == 1 else None
    return only is not None and not only.ifs and ast.dump(node.elt) == ast.dump(only.target).replace("Store", "Load")
