"""Whether an expression is one number that the host has: what `torch.full((), n, device=d)` can be given."""

from __future__ import annotations

import ast
import re

from torchperf_lint.facts.bindings.bindings import Definition
from torchperf_lint.facts.bindings.hints import NUMBERS, scalar_parameter
from torchperf_lint.facts.call_graph.index import FunctionKey
from torchperf_lint.facts.call_graph.passed import argument_for, call_at
from torchperf_lint.facts.constants.held_numbers import holds_a_number, is_set_to_no_other
from torchperf_lint.facts.constants.tested_numbers import tested_number
from torchperf_lint.facts.outlines.records import Position
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.literals import is_none
from torchperf_lint.facts.values.value import MAX_HOPS, Frame
from torchperf_lint.facts.values.values import Values
from torchperf_lint.patterns import pattern

_MAX_DEPTH = 6
_MAX_CALLERS = 8
"""Calls looked at for what a parameter is given."""
_GIVE_NUMBERS = frozenset(f"builtins.{name}" for name in "int float len round abs max min sum".split())
_ONE_NUMBER = {
    "beta": 2, "uniform": 2, "normal": 2, "rand": 0, "randn": 0, "randint": 2, "random": 0, "choice": 1,
    "exponential": 1,
}  # fmt: skip
"""Functions of `numpy.random` that draw one number -> the position of the argument that asks for more of them."""
_REDUCE = frozenset("mean sum max min median std var prod nanmean".split())
"""Functions of numpy's that give one number of an array, unless they are given an axis."""
_OF_NUMBERS = frozenset("exp log log2 log10 sqrt square power abs floor ceil sin cos tan deg2rad radians sign".split())
"""Functions of numpy's that give a number of numbers."""
_SPECIAL = pattern(r"^(?:eos|bos|pad|sep|cls|mask|unk)_(?:token_)?id$|^(?:decoder_start|image|audio)_token_id$")
"""Ids of a tokenizer's special tokens, which it and its model's configuration hold."""
_COUNT = pattern(r"^(?:n|num)_(?!batches_tracked$)\w+s$")
"""How an object calls what it counts by: `self.n_samples`, `self.num_heads`: a number, unless a method shows more."""
_SEVERAL = frozenset({"random.sample", "random.choices"})
LIMITS = frozenset({"min", "max", "eps", "tiny"})
"""Of `torch.finfo(dtype)`."""
CONSTANTS = frozenset(
    f"{module}.{name}" for module in ("math", "numpy", "torch") for name in ("pi", "e", "inf", "nan", "tau")
)
"""Numbers that a module has under a name."""
_OF_LAYERS = frozenset(
    "ignore_index padding_idx num_embeddings embedding_dim in_features out_features num_heads eps".split()
)
"""Attributes of torch's layers and losses that are numbers."""
_OF_TENSORS = frozenset({"numel", "nelement", "dim", "ndimension", "item"})
_SAME_TURNS = pattern(r"^(?:reversed|list|tuple)$|tqdm|progress_?bar|^pbar$|^track$", re.IGNORECASE)
"""Give what they are given, one after the other."""


_Asked = frozenset[tuple[str, Position]]
"""Where the bindings stand that are being looked at: what they are made of themselves adds nothing."""


def is_host_number(
    values: Values, node: ast.expr, frame: Frame, depth: int = 0, asked: _Asked = frozenset()
) -> bool:
    """Whether an expression is evidently a single number on the host, the same at every step or not."""
    if depth > _MAX_DEPTH:
        return False
    if isinstance(node, ast.Constant):
        return isinstance(node.value, int | float | complex)
    if isinstance(node, ast.Compare) and all(isinstance(o, ast.Is | ast.IsNot | ast.In | ast.NotIn) for o in node.ops):
        return True
    if isinstance(node, ast.UnaryOp | ast.BinOp | ast.IfExp | ast.BoolOp | ast.Compare):
        return all(is_host_number(values, part, frame, depth + 1, asked) for part in _operands(node))
    if isinstance(node, ast.Call):
        return _gives_a_number(values, node, frame, depth, asked)
    if isinstance(node, ast.Subscript):
        return _of_a_shape(values, node, frame)
    if isinstance(node, ast.Attribute):
        return _attribute(values, node, frame, depth, asked)
    return _named(values, node, frame, depth, asked) if isinstance(node, ast.Name) else False


def _attribute(values: Values, node: ast.Attribute, frame: Frame, depth: int, asked: _Asked) -> bool:
    if _SPECIAL.search(node.attr) and values.of(node, frame).kind in ("plain", "unknown"):
        return True
    thing = values.thing(node, frame)
    if thing is not None and thing.kind == "external" and thing.dotted in CONSTANTS:
        return True

    def is_number(put: ast.expr, at: Frame) -> bool:
        return is_host_number(values, put, at, depth + 1, asked)

    if _COUNT.search(node.attr) and chain(node.value) == "self":
        counts = values.of(node, frame).kind in ("plain", "unknown")
        return counts and is_set_to_no_other(values, node, frame, is_number)
    if node.attr in _OF_LAYERS and values.of(node.value, frame).kind == "module":
        return True
    if node.attr in LIMITS and last_part(chain(node.value)) in ("finfo", "iinfo"):
        return True
    return holds_a_number(values, node, frame, is_number)


def _operands(node: ast.UnaryOp | ast.BinOp | ast.IfExp | ast.BoolOp | ast.Compare) -> list[ast.expr]:
    if isinstance(node, ast.BinOp):
        return [node.left, node.right]
    if isinstance(node, ast.BoolOp):
        return node.values
    if isinstance(node, ast.Compare):
        return [node.left, *node.comparators]
    return [node.operand] if isinstance(node, ast.UnaryOp) else [node.body, node.orelse]


def _gives_a_number(values: Values, node: ast.Call, frame: Frame, depth: int, asked: _Asked) -> bool:
    thing = values.thing(node.func, frame)
    dotted = thing.dotted if thing is not None and thing.kind == "external" else ""
    if (dotted.startswith("random.") and dotted not in _SEVERAL) or (
        dotted.startswith("numpy.random.") and _draws_one(node)
    ):
        return True
    if dotted.startswith("math.") or dotted in _GIVE_NUMBERS:
        return values.of(node, frame).kind in ("plain", "unknown")  # `sum` and `abs` of tensors are tensors
    if dotted.startswith("numpy.") and last_part(dotted) in _REDUCE and len(node.args) == 1 and not node.keywords:
        return True
    if dotted.startswith("numpy.") and last_part(dotted) in _OF_NUMBERS and node.args and not node.keywords:
        return all(is_host_number(values, part, frame, depth + 1, asked) for part in node.args)
    if not dotted and _is_promised(values, node, frame):
        return True
    if not isinstance(node.func, ast.Attribute):
        return False
    counts = node.func.attr in _OF_TENSORS or (node.func.attr == "size" and bool(node.args))
    return counts and values.of(node.func.value, frame).kind == "tensor"


def _is_promised(values: Values, node: ast.Call, frame: Frame) -> bool:
    """Whether the function of the project that is called says to give a number, `-> float`, and nothing shows more."""
    targets = values.types.targets(frame.path, frame.function, chain(node.func))
    body = values.body(targets[0].path) if len(targets) == 1 else None
    function = body.functions.get(targets[0].index) if body is not None else None
    hint = function.returns if isinstance(function, ast.FunctionDef) else None
    return isinstance(hint, ast.Name) and hint.id in NUMBERS and values.of(node, frame).kind == "plain"


def _draws_one(node: ast.Call) -> bool:
    """Whether a function of numpy's draws one number: without a size."""
    sizes = _ONE_NUMBER.get(node.func.attr) if isinstance(node.func, ast.Attribute) else None
    return sizes is not None and len(node.args) <= sizes and all(k.arg not in ("size", None) for k in node.keywords)


def _of_a_shape(values: Values, node: ast.Subscript, frame: Frame) -> bool:
    """`x.shape[0]`, and a setting of an optimizer's group: `group["lr"]`."""
    if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
        if "param_groups[" in chain(node.value):
            return node.slice.value != "params"
        if not isinstance(node.value, ast.Name):
            return False
        return _is_group(values, node.value, frame) and node.slice.value != "params"
    return not isinstance(node.slice, ast.Slice) and _is_shape(values, node.value, frame)


def _is_shape(values: Values, node: ast.expr, frame: Frame, depth: int = 0) -> bool:
    """`x.shape`, `x.shape[-2:]`, `x.size()`, a name for one, and what a loop takes from a list of such."""
    while isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
        node = node.value
    if isinstance(node, ast.Attribute):
        return node.attr == "shape" and values.of(node.value, frame).kind in ("tensor", "batch", "unknown")
    if isinstance(node, ast.Call):
        if chain(node.func) in ("list", "tuple") and len(node.args) == 1:
            return _is_shape(values, node.args[0], frame, depth)
        sized = isinstance(node.func, ast.Attribute) and node.func.attr == "size" and not node.args
        return sized and isinstance(node.func, ast.Attribute) and values.of(node.func.value, frame).kind == "tensor"
    body = values.body(frame.path)
    if not isinstance(node, ast.Name) or body is None or depth > _MAX_DEPTH:
        return False
    reaching = body.reaching(frame.function, node.id, frame.at)
    d = reaching[0] if reaching and len(reaching) == 1 else None
    if d is None or d.value is None or d.how not in ("assign", "loop") or d.index:
        return False
    at = frame.back(body.at(d.value), d.end)
    if d.how == "assign":
        return _is_shape(values, d.value, at, depth + 1)
    listed = d.value
    if isinstance(listed, ast.Name):
        only = body.reaching(frame.function, listed.id, at.at)
        listed = only[0].value if only and len(only) == 1 and only[0].value is not None else listed
    made = listed.elt if isinstance(listed, ast.ListComp) else None
    return made is not None and _is_shape(values, made, at._replace(at=body.at(made)), depth + 1)


def _is_group(values: Values, node: ast.Name, frame: Frame) -> bool:
    """A name bound by `for group in optimizer.param_groups`."""
    body = values.body(frame.path)
    reaching = body.reaching(frame.function, node.id, frame.at) if body is not None else None
    return bool(reaching) and all(
        d.how == "loop" and d.value is not None and chain(d.value).endswith("param_groups") for d in reaching or ()
    )


def _part_given_back(values: Values, d: Definition, frame: Frame, depth: int) -> bool:
    """Whether a part of what a function of the project gives is a number: `labels, count = self.targets(x)`."""
    call = _only_value(values, d.value, frame) if isinstance(d.value, ast.Name) else d.value
    if not isinstance(call, ast.Call) or len(d.index) != 1 or depth >= _MAX_DEPTH or frame.hops >= MAX_HOPS:
        return False
    targets = values.types.targets(frame.path, frame.function, chain(call.func))
    body = values.body(targets[0].path) if len(targets) == 1 else None
    if body is None:
        return False
    path, function = targets[0]
    parts = [r for r in body.returns(function) if not is_none(r)]
    numbers = (
        isinstance(r, ast.Tuple)
        and d.index[0] < len(r.elts)
        and is_host_number(values, r.elts[d.index[0]], frame.hop(path, function, body.at(r)), depth + 1)
        for r in parts
    )
    return bool(parts) and all(numbers)


def _only_value(values: Values, node: ast.Name, frame: Frame) -> ast.expr | None:
    """What a local name is bound to, where that is one thing."""
    body = values.body(frame.path)
    return body.assigned_once(frame.function, node.id, frame.at) if body is not None else None


def _named(values: Values, node: ast.Name, frame: Frame, depth: int, asked: _Asked) -> bool:
    """A parameter that is promised to be a number, what counts the turns of a loop, or a local number."""
    body = values.body(frame.path)
    if body is None:
        return False
    if tested_number(values, node.id, frame):
        return True
    reaching = body.reaching(frame.function, node.id, frame.at)
    parameters = values.index.outlines[frame.path].functions[frame.function].parameters
    if any(parameter.name == node.id for parameter in parameters):
        promised = scalar_parameter(body, frame.function, node.id) or _passed(values, node.id, frame, depth)
        return not reaching and promised
    if not reaching:
        return False
    new = [d for d in reaching if (frame.path, d.at) not in asked]
    asked |= {(frame.path, d.at) for d in new}
    for d in new:
        if d.how == "item" and _part_given_back(values, d, frame, depth):
            continue
        if d.value is None or d.how not in ("assign", "augmented", "loop"):
            return False
        if d.how == "loop":
            if not _counts_turns(values, d.value, d.index, frame):
                return False
        elif not is_host_number(values, d.value, frame.back(body.at(d.value), d.end), depth + 1, asked):
            return False
    return True


def _passed(values: Values, name: str, frame: Frame, depth: int) -> bool:
    """Whether every call passes a number of the host for a parameter: `all_reduce_mean(loss.item())`."""
    key = FunctionKey(frame.path, frame.function)
    callers = values.hotness.callers.get(key, ())
    if not 0 < len(callers) <= _MAX_CALLERS or frame.hops >= MAX_HOPS:
        return False
    function = values.index.function(key)
    for site in callers:
        call = call_at(values, site)
        argument = argument_for(call, function, name) if call is not None else None
        at = frame.hop(site.path, site.call.function, (site.call.line, site.call.column))
        if argument is None or not is_host_number(values, argument, at, depth + 1):
            return False
    return True


def _counts_turns(values: Values, node: ast.expr, index: tuple[int, ...], frame: Frame) -> bool:
    """`for i in range(n)`, and the first of `for i, x in enumerate(xs)`."""
    while isinstance(node, ast.Call) and node.args and _SAME_TURNS.search(last_part(chain(node.func))):
        node = node.args[0]  # `for i in tqdm(reversed(range(n)))`
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
        return _counts_turns(values, node.value, index, frame)
    if isinstance(node, ast.Name):
        return _are_counted(values, node, index, frame)
    thing = values.thing(node.func, frame) if isinstance(node, ast.Call) else None
    if thing is None or thing.kind != "external" or not isinstance(node, ast.Call):
        return False
    if thing.dotted == "builtins.enumerate" and index[:1] == (1,) and node.args:
        return _counts_turns(values, node.args[0], index[1:], frame)
    if thing.dotted == "builtins.zip" and index and index[0] < len(node.args):
        return _counts_turns(values, node.args[index[0]], index[1:], frame)
    if thing.dotted in ("numpy.arange", "numpy.linspace") and not index:
        return True
    return (thing.dotted, index) in (("builtins.range", ()), ("builtins.enumerate", (0,)))


def _are_counted(values: Values, node: ast.Name, index: tuple[int, ...], frame: Frame) -> bool:
    """A local name for such turns: `steps = list(range(0, n, k))`, `for t in reversed(steps)`."""
    body = values.body(frame.path)
    bound = body.assigned(frame.function, node.id, frame.at) if body is not None else []
    if body is None or not bound or not all(isinstance(value, ast.Call | ast.Subscript) for value in bound):
        return False
    return all(_counts_turns(values, value, index, frame.back(body.at(value))) for value in bound)
