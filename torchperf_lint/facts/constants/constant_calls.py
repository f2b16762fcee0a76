"""Calls that give the same at every step where what they are given is: arithmetic, `range`, numpy's, helpers' own.

What their arguments are is asked of the look that came upon the call.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING

from torchperf_lint.facts.bindings.bindings import Definition
from torchperf_lint.facts.call_graph.index import FunctionKey
from torchperf_lint.facts.constants.configured import CONFIGURED, LITERAL, SHAPE, loosest
from torchperf_lint.facts.constants.constant_attributes import is_of_constants
from torchperf_lint.facts.outlines.records import Function
from torchperf_lint.facts.syntax.arguments import arguments
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.patterns import pattern

if TYPE_CHECKING:
    from torchperf_lint.facts.constants.constants import Look

_SIZES = frozenset({"size", "numel", "dim", "ndimension", "nelement"})
_NUMBERS = frozenset(
    "builtins.int builtins.float builtins.max builtins.min builtins.abs builtins.round builtins.sum".split()
)
_FROM_ELSEWHERE = ("numpy.random.", "numpy.load", "numpy.from", "numpy.genfromtxt", "numpy.memmap", "numpy.empty")
"""Functions of numpy's whose result is not that of their arguments alone."""
_TABLES = ("librosa.filters.", "scipy.signal.windows.", "scipy.signal.firwin", "scipy.signal.get_window")
"""Functions that make a filter or a window of settings."""
_OF_A_SEQUENCE = frozenset(
    "builtins.range builtins.list builtins.tuple builtins.sorted builtins.reversed builtins.enumerate "
    "builtins.zip itertools.permutations itertools.product itertools.combinations".split()
)
_WITHOUT_NAME = frozenset({"slice", "sorted", "reversed"})
"""Builtins that give what they are given, in one order or another."""
_OF_NUMBERS = frozenset("arange linspace logspace eye identity hanning hamming blackman kaiser tri".split())
"""Functions of numpy's that take numbers and make a table of them."""
_KEEP_ARRAYS = frozenset(
    "astype reshape transpose copy flatten ravel squeeze repeat clip tolist sum mean max min dot cumsum".split()
)
"""Methods of an array, or of a list, whose result follows from its numbers alone."""
_VIEWS = frozenset({"values", "keys", "items", "copy"})
"""Methods that give what a container holds."""
_LOOKS_UP = frozenset({"index", "count", "get"})
"""Methods that ask a list or table for one thing."""
_CACHES = frozenset({"lru_cache", "cache"})
_DRAWS = pattern(r"rand|sample|shuffle|choice|(?:^|\.)(?:time|next|item|tolist|open|input|load)(?:$|\.)")
"""Calls by which a function gives other numbers each time."""


def of_call(look: Look, node: ast.Call, depth: int) -> str | None:
    """Why what a call gives is the same at every step, LITERAL, CONFIGURED or SHAPE; None where it may not be."""
    thing = look.values.thing(node.func, look.frame)
    dotted = thing.dotted if thing is not None and thing.kind == "external" else ""
    if dotted == "builtins.len" and len(node.args) == 1:
        return SHAPE if look.is_tensor(node.args[0]) else look.of(node.args[0], depth + 1)
    if dotted == "builtins.float" and len(node.args) == 1 and isinstance(node.args[0], ast.Constant):
        return LITERAL
    if dotted == "torch.numel" and len(node.args) == 1:
        return SHAPE if look.is_tensor(node.args[0]) else None
    if isinstance(node.func, ast.Attribute) and node.func.attr in _SIZES:
        return SHAPE if look.is_tensor(node.func.value) else None
    if (
        isinstance(node.func, ast.Attribute)
        and node.func.attr in _KEEP_ARRAYS
        and not dotted.endswith(f"numpy.{node.func.attr}")
    ):
        kept = look.values.of(node.func.value, look.frame).kind in ("array", "sequence")
        return look.inside(tests=look.constructs).of(node.func.value, depth + 1) if kept else None
    if dotted.startswith(_TABLES) and (node.args or node.keywords):
        # What may be told of its arguments is that they are settings: they make a table, and data would make none.
        return look.used_here().all(arguments(node), depth) and CONFIGURED
    if dotted.startswith("numpy.") and not dotted.startswith(_FROM_ELSEWHERE) and node.args and not _shuffles(look):
        return _of_array(look, node, depth)
    if (
        dotted in _NUMBERS
        or dotted in _OF_A_SEQUENCE
        or chain(node.func) in _WITHOUT_NAME
        or dotted.startswith("math.")
    ):
        # `min(values, key=...)` chooses by something else.
        return look.all(arguments(node), depth)
    first = _first_of(node) if chain(node.func) == "next" else None
    if first is not None:
        return look.of(first, depth + 1)
    if isinstance(node.func, ast.Attribute) and node.func.attr in _VIEWS and not node.args:
        return look.of(node.func.value, depth + 1)
    if isinstance(node.func, ast.Attribute) and (node.func.attr in _LOOKS_UP or is_of_constants(look, node.func)):
        return _looked_up(look, node, node.func, depth)
    return _helped(look, node, depth) if not dotted else None


def _first_of(node: ast.Call) -> ast.expr | None:
    """What `next(iter(lags.values()))` takes the first of, which is as good as `list(...)[0]`."""
    begun = node.args[0] if node.args else None
    return begun.args[0] if isinstance(begun, ast.Call) and chain(begun.func) == "iter" and begun.args else None


def _shuffles(look: Look) -> bool:
    """Whether the function around brings something into another order each time: `np.random.shuffle(order)`."""
    body = look.values.body(look.frame.path)
    return body is not None and any(last_part(name) == "shuffle" for name in body.callees(look.frame.function))


def _looked_up(look: Look, node: ast.Call, called: ast.Attribute, depth: int) -> str | None:
    """Where a table of constants has something: `names.index("SG")`; and what a module of constants computes."""
    if called.attr in _LOOKS_UP and look.used_here().of(called.value, depth + 1) is None:
        return None
    given = arguments(node)
    return CONFIGURED if not given or look.used_here().all(given, depth) is not None else None


def _of_array(look: Look, node: ast.Call, depth: int) -> str | None:
    """What numpy makes of its arguments: an array on the host, whatever a constructor was given for it."""
    if not look.constructs and last_part(chain(node.func)) in _OF_NUMBERS:
        look = look.inside(tests=True)  # what it is given are numbers, or it would raise: it needs only stay the same
    if not look.constructs:
        return look.all(node.args, depth)
    return CONFIGURED if look.inside(tests=True).all(node.args, depth) is not None else None


def _helped(look: Look, node: ast.Call, depth: int) -> str | None:
    """What a function of the project makes of such numbers, and of names and switches, without drawing any."""
    given = arguments(node)
    targets = look.values.types.targets(look.frame.path, look.frame.function, chain(node.func))
    if not given:
        return _given_back(look, targets, depth)
    body = look.values.body(targets[0].path) if len(targets) == 1 else None
    if body is None or look.values.of(node, look.frame).kind not in ("plain", "sequence", "array", "unknown"):
        return None
    function = targets[0].index
    if keeps_what_it_gave(look.values.index.function(targets[0])):
        return CONFIGURED
    if any(_DRAWS.search(callee) for callee in body.callees(function)) or not body.returns(function):
        return None
    kind = look.used_here().all(given, depth)
    return loosest([kind, CONFIGURED]) if kind is not None else None


def keeps_what_it_gave(function: Function) -> bool:
    """Whether a function gives the same object to who asks for the same again: under `functools.lru_cache`."""
    return any(last_part(decorator.removesuffix("()")) in _CACHES for decorator in function.decorators)


def part_given_back(look: Look, reaching: Sequence[Definition], depth: int) -> str | None:
    """What a name is of several values that a function of the project gives back: `x, ratio = self._resized(x)`.

    The function is looked into with the names that it has: what it makes of the shape of a tensor follows from shapes.
    """
    bound = reaching[0] if len(reaching) == 1 else None
    call = bound.value if bound is not None and bound.how == "item" and len(bound.index) == 1 else None
    if bound is None or not isinstance(call, ast.Call) or not look.may_go_into(depth):
        return None
    targets = look.values.types.targets(look.frame.path, look.frame.function, chain(call.func))
    body = look.values.body(targets[0].path) if len(targets) == 1 else None
    if body is None:
        return None
    path, function = targets[0]
    parts = [_part(returned, bound.index[0]) for returned in body.returns(function)]
    kinds = [
        look.elsewhere(look.frame.hop(path, function, body.at(part))).of(part, depth + 1) for part in parts if part
    ]
    return loosest([kind for kind in kinds if kind]) if parts and all(parts) and all(kinds) else None


def _part(node: ast.expr, index: int) -> ast.expr | None:
    """One of the values that are written out: `return x, height / width`."""
    several = node.elts if isinstance(node, ast.Tuple) else []
    spread = any(isinstance(part, ast.Starred) for part in several)
    return several[index] if index < len(several) and not spread else None


def _given_back(look: Look, targets: Sequence[FunctionKey], depth: int) -> str | None:
    """What a method that is given nothing makes of what its object holds."""
    body = look.values.body(targets[0].path) if len(targets) == 1 else None
    if body is None or not look.may_go_into(depth):
        return None
    path, function = targets[0]
    returned = body.returns(function)
    looks = [look.elsewhere(look.frame.hop(path, function, body.at(r))).of(r, depth + 1) for r in returned]
    return CONFIGURED if looks and all(looks) else None
