"""What a step takes in and then moves to the device: whoever writes the move says that it lies on the host.

`for x, y in anything: x = x.to(device)` in a loop that trains needs no loader's name, and no loader in sight.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from torchperf_lint.facts.bindings.bindings import Definition
from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.call_graph.index import FunctionKey
from torchperf_lint.facts.call_graph.module_calls import MODEL_NAME
from torchperf_lint.facts.call_graph.passed import argument_for
from torchperf_lint.facts.outlines.records import Function
from torchperf_lint.facts.syntax import torch_api as api
from torchperf_lint.facts.syntax.arguments import moved_to
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.conditions import names_in
from torchperf_lint.facts.syntax.syntax import blocks_of
from torchperf_lint.facts.values.iteration import sets_up_loaders
from torchperf_lint.facts.values.rest import rest_given, rest_of
from torchperf_lint.facts.values.value import HOST, UNKNOWN, Frame, Value
from torchperf_lint.model import Confidence
from torchperf_lint.patterns import pattern

if TYPE_CHECKING:
    from torchperf_lint.facts.values.values import Values

_TAKES = pattern(
    r"^(?:__)?next(?:__)?$|"
    r"^(?:(?:get|next|fetch|load|read)_)?(?:next_|random_|train(?:ing)?_|val_|eval_|test_|mini_?)*batch$"
)
"""Methods that hand out a batch, and none that draw from a replay buffer."""
_STEP = pattern(r"(?:^|_)(?:step|batch|iter|iteration)(?:_|$)|^forward_backward$")
_GIVEN = pattern(r"^(?:(?:mini_?|train_|input_|data_)?batch(?:_data|_dict)?|data(?:_batch|_dict)?|inputs?|samples?)$")
_ON_BATCH = pattern(r"^_?(?:train|fit|learn|update|optimi[sz]e)(?:_\w+)?_(?:batch|step|iter)$")
_WHOLE = pattern(r"^(?:mini_?|data_)?batch(?:_data)?$")
_MAKES_ANEW = pattern(r"token|processor|encode|convert|transform|^tensor$|array|numpy", re.IGNORECASE)
"""What makes tensors of texts, pictures and arrays, which no loader can pin."""
_IMAGES = pattern(r"^(?:imgs?|images?|x|xs)$")
_TYPES = pattern(r"dtype|precision|^(?:b?float|cfloat|half|double|u?int|long|short|bool)\d*$")
_HOST = pattern(r"(?:^|_)(?:cpu|host)(?:_|$)", re.IGNORECASE)
"""What a device of the host is called: `loss.to(cpu_device)` is no upload."""
_PREFETCH = pattern(r"prefetch")
_PREFETCHED = pattern(r"\bnot (?:\w+\.)*\w*prefetch")
_SIZES = frozenset({"shape", "size", "ndim", "dim", "numel", "device", "dtype"})
_ROUNDS = 4
"""Bindings followed from what is moved back to what it was taken from."""

TAKEN_IN = "what a step takes in"
"""How the reason begins: nothing but the move says that it is a batch."""

def taken_and_moved(values: Values, name: str, d: Definition, frame: Frame, body: Body) -> Value:
    """What the turn of a hot loop takes in under a name and moves to the device; unknown for everything else."""
    if d.value is None or d.within is not None:
        return UNKNOWN
    if MODEL_NAME.search(f"_{name}") or _is_any_of_a_dict(d.value):
        return UNKNOWN  # one of several models, or of the tensors of one
    if d.how == "loop":
        turns = _is_turn_of_step(values, name, d, frame)
    else:
        turns = isinstance(d.value, ast.Call) and _is_hot(values, d, frame)
    if not turns or not _is_moved(values, name, frame, body):
        return UNKNOWN
    there = frame.back(body.at(d.value), d.end)
    if d.how == "loop":
        taken = values.of(d.value, there).kind != "object"
    else:
        taken = isinstance(d.value, ast.Call) and _hands_out(values, d.value, there)
        taken = taken and not _moved_arguments(values, d.value, there)  # type: ignore[arg-type]  # gives what it moved
    if not taken or _moves_batches_itself(values, frame.path):
        return UNKNOWN
    because = f"{TAKEN_IN} (line {d.at[0]}) and moves to the device"
    return Value("batch", HOST, because, Confidence.LIKELY)


def _is_any_of_a_dict(node: ast.expr) -> bool:
    """`next(iter(self.models.values()))`."""
    if not isinstance(node, ast.Call) or chain(node.func) != "next" or not node.args:
        return False
    inner = node.args[0]
    of = inner.args[0] if isinstance(inner, ast.Call) and chain(inner.func) == "iter" and inner.args else inner
    return isinstance(of, ast.Call) and last_part(chain(of.func)) in ("values", "items", "keys")


def given_and_moved(values: Values, name: str, frame: Frame, body: Body) -> Value:
    """A parameter by the name of a batch that a step moves to the device; unknown for everything else."""
    key = FunctionKey(frame.path, frame.function)
    function, hot = values.index.function(key), values.hotness.functions.get(key)
    if hot is None or hot.kind not in ("step", "eval") or not _is_given(function, name, hot.depth):
        return UNKNOWN
    if (
        not _is_moved(values, name, frame, body)
        or _moves_batches_itself(values, frame.path)
        or _is_moved_for(values, key)
    ):
        return UNKNOWN
    because = f"what `{function.name}` is given (line {function.header_line}) and moves to the device"
    return Value("batch", HOST, because, Confidence.LIKELY)


def _is_given(function: Function, name: str, depth: int) -> bool:
    """Whether a parameter is a batch by its name, or any tensor of a function that is named after what it trains on."""
    if _STEP.search(function.name):
        return bool(_GIVEN.search(name)) or (not depth and bool(_ON_BATCH.search(function.name)))
    return not depth and bool(_WHOLE.search(name))


def _is_moved_for(values: Values, key: FunctionKey) -> bool:
    """Whether a function is a method of a Lightning module, whose batches the trainer moves."""
    own = values.index.class_of(key.path, key.index)
    bases = values.index.external_bases(own) if own is not None else ()
    return any("lightning" in base.lower() for base in bases)


def _moves_batches_itself(values: Values, path: str) -> bool:
    """Whether a framework that the file uses hands out batches on the device."""
    return sets_up_loaders(values, path) or values.index.outlines[path].imports_from("torch_xla", "ignite", "torchtext")


def _is_turn_of_step(values: Values, name: str, d: Definition, frame: Frame) -> bool:
    """Whether a loop over something unknown trains with each turn's data, or evaluates what looks like a batch."""
    region = values.hotness.innermost(frame.path, d.end)
    regions = values.index.outlines[frame.path].regions
    while region > 0 and not (regions[region].kind == "loop" and regions[region].head == d.at[0]):
        region = regions[region].parent
    loop = values.hotness.loop_at(frame.path, region) if region > 0 else None
    if loop is None or loop.kind != "eval":
        return loop is not None and loop.kind == "step"
    return bool(d.index) or bool(_GIVEN.search(name) or _IMAGES.search(name))


def _hands_out(values: Values, node: ast.Call, frame: Frame) -> bool:
    """Whether a call hands out a batch by its name, or is given one that is on the host: `self.parse_data(data)`."""
    called = last_part(chain(node.func))
    if _TAKES.search(called):
        source = node.func.value if isinstance(node.func, ast.Attribute) else next(iter(node.args), None)
        return source is None or values.of(source, frame).kind != "object"  # of a known class: that says what it gives
    others = MODEL_NAME.search(chain(node.func)) or _MAKES_ANEW.search(called)
    given = [values.of(a, frame) for a in node.args[:2]] if not others else []
    return any(value.kind == "batch" and value.device == HOST for value in given)


def _is_hot(values: Values, d: Definition, frame: Frame) -> bool:
    hot = values.hotness.at(frame.path, d.at)
    return hot is not None and hot.kind in ("step", "eval")


def _is_moved(values: Values, name: str, frame: Frame, body: Body) -> bool:
    key = (frame.path, frame.function)
    if key not in values.moved:
        handed = _handed_to_be_moved(values, frame, body)
        values.moved[key] = _moved(values, frame, body) | _taken_from(handed, frame, body)
    return name in values.moved[key]


def _handed_to_be_moved(values: Values, frame: Frame, body: Body) -> set[str]:
    """The names that a function hands to another, which moves them: `run_on(model, x)`, with `x.to(device)` there."""
    found: set[str] = set()
    for call in values.index.calls_in(FunctionKey(frame.path, frame.function)):
        if _mover(values, call.callee, frame) is not None:
            arguments = _moved_arguments(values, body.node_of(call), frame)
            found |= {root for argument in arguments for root in _roots(argument)}
    return found


def _moved_arguments(values: Values, node: ast.Call | None, frame: Frame) -> list[ast.expr]:
    """What a call hands to a function of the project that moves it to a device."""
    key = _mover(values, chain(node.func), frame) if node is not None else None
    body = values.body(key.path) if key is not None else None
    if node is None or key is None or body is None:
        return []
    function = values.index.function(key)
    moved = _moved(values, Frame(key.path, key.index, (function.header_line, 1)), body)
    names = [parameter.name for parameter in function.parameters[function.bound :] if parameter.name in moved]
    found = [argument for name in names if (argument := argument_for(node, function, name)) is not None]
    return [*found, *(rest_given(node, function) if rest_of(body, key.index) in moved else ())]


def _mover(values: Values, callee: str, frame: Frame) -> FunctionKey | None:
    """The one function of the project that a call runs, but for a module's pass, that calls `to` or `cuda`."""
    targets = values.types.targets(frame.path, frame.function, callee)
    if len(targets) != 1 or values.index.function(targets[0]).name in ("forward", "__call__", "__init__"):
        return None
    return targets[0] if targets[0].index in _moving_in(values, targets[0].path) else None


_moving: WeakKeyDictionary[Values, dict[str, frozenset[int]]] = WeakKeyDictionary()
"""Path -> the functions of a file that call `to` or `cuda`."""


def _moving_in(values: Values, path: str) -> frozenset[int]:
    known = _moving.setdefault(values, {})
    if path not in known:
        calls = values.index.outlines[path].calls
        known[path] = frozenset(call.function for call in calls if last_part(call.callee) in ("to", "cuda"))
    return known[path]


def _moved(values: Values, frame: Frame, body: Body) -> frozenset[str]:
    """The names of a function that it moves to a device, and those that these are taken out of."""
    calls = values.index.calls_in(FunctionKey(frame.path, frame.function))
    called = {call.callee for call in calls}
    found: set[str] = set()
    moves = [call for call in calls if last_part(call.callee) in ("to", "cuda") and "." in call.callee]
    unless = _prefetched(body.functions.get(frame.function)) if moves else []
    for call in moves:
        node = body.node_of(call) if not any(start <= call.line <= end for start, end in unless) else None
        if node is not None and isinstance(node.func, ast.Attribute) and _names_a_device(node):
            found |= _roots(node.func.value)
    others = ("", ".parameters", ".eval", ".backward")
    modules = {name for name in found if any(name + other in called for other in others)}
    return _taken_from(found - modules, frame, body)


def _prefetched(function: ast.AST | None) -> list[tuple[int, int]]:
    """The lines of branches that only run where no prefetcher has moved the batch: `if not args.prefetcher:`."""
    blocks = [function] if function is not None else []
    for node in blocks:
        blocks += blocks_of(node)
    asked = [node for node in blocks if isinstance(node, ast.If) and any(map(_PREFETCH.search, names_in(node.test)))]
    return [(t.body[0].lineno, t.body[-1].end_lineno or 0) for t in asked if _PREFETCHED.search(ast.unparse(t.test))]


def _names_a_device(node: ast.Call) -> bool:
    """Whether `cuda` is called, or `to` with what is neither the host nor a type, as far as its words say."""
    if getattr(node.func, "attr", "") == "cuda":
        return True
    given = moved_to(node)
    if given is None or (isinstance(given, ast.Constant) and str(given.value).startswith("cpu")):
        return False
    named = last_part(chain(given))
    return not _TYPES.search(named) and not _HOST.search(named)


def _taken_from(names: set[str], frame: Frame, body: Body) -> frozenset[str]:
    if not names:
        return frozenset()
    definitions, found, last = body.definitions(frame.function), set(names), set(names)
    for _ in range(_ROUNDS):
        bound = [d for name in last for d in definitions.get(name, ()) if d.value is not None]
        last = {root for d in bound for root in _roots(d.value)} - found  # type: ignore[arg-type]
        found |= last
    return frozenset(found)


def _roots(node: ast.expr) -> set[str]:
    """The name below items, attributes and methods; of `Variable(x)` and other functions those they are given.

    What only asks for sizes, `torch.randperm(x.size(0))` and `x.shape[0]`, says nothing of where `x` is.
    """
    while True:
        if _asks_for_sizes(node):
            return set()
        if isinstance(node, ast.Attribute | ast.Subscript | ast.Starred):
            node = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and not _is_function(node):
            node = node.func.value
        elif isinstance(node, ast.Call) and node.args:
            return {root for argument in node.args for root in _roots(argument)}
        else:
            return {node.id} if isinstance(node, ast.Name) else set()


def _asks_for_sizes(node: ast.expr) -> bool:
    if isinstance(node, ast.Attribute):
        return node.attr in _SIZES
    if not isinstance(node, ast.Call):
        return False
    name = last_part(chain(node.func))
    if isinstance(node.func, ast.Attribute) and _is_function(node):
        return name in api.SIZED_FACTORIES | api.LIKE_FACTORIES
    return name in _SIZES or name == "len"


def _is_function(node: ast.Call) -> bool:
    """Whether what is called is a function of some module, and no method: `F.one_hot(y)`, `Variable(x)`."""
    return last_part(chain(node.func)) == api.VARIABLE or chain(node.func).partition(".")[0] in ("torch", "F", "einops")
