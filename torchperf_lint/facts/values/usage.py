"""What a name must be, from what its function asks of it."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from torchperf_lint.facts.bindings.bindings import Definition
from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.bindings.effects import INDICES_OF_TORCH, PICKED_BY_TORCH, PICKS_BY_COPY
from torchperf_lint.facts.bindings.same_binding import is_same
from torchperf_lint.facts.call_graph.index import FunctionKey
from torchperf_lint.facts.hotness.loader_loops import is_plural
from torchperf_lint.facts.outlines.records import Position
from torchperf_lint.facts.outlines.signatures import ACCELERATOR_NAME, LOADER_NAME
from torchperf_lint.facts.syntax import torch_api as api
from torchperf_lint.facts.syntax.chains import chain
from torchperf_lint.facts.syntax.literals import is_text
from torchperf_lint.facts.syntax.syntax import nodes_of
from torchperf_lint.facts.values.backward_factors import graded_at, picked_from_at
from torchperf_lint.facts.values.nominal import from_thing
from torchperf_lint.facts.values.value import (
    ANYWHERE,
    HOST,
    PLAIN,
    UNKNOWN,
    Frame,
    Value,
    tensor,
)
from torchperf_lint.model import Confidence
from torchperf_lint.patterns import pattern

if TYPE_CHECKING:
    from torchperf_lint.facts.values.values import Values


_STEP_COUNTER = pattern(
    r"(?:^|(?<!batch)[._\[])(?:state_)?steps?(?:_t)?\]?$|(?:^|[._\[])(?:mu_product|bias_correction)s?\d?\]?$"
)
_OF_A_PARAMETER = pattern(r"\[steps?\]$|(?:^|[._\[])(?:state_steps?|steps?_t|mu_products?|bias_corrections?\d?)\]?$")
_WALKS = frozenset({"len", "max", "min", "zip", "enumerate", "sum", "sorted"})
_HAS_A_DEVICE = pattern(
    r"(?:^|_)(?:model|net|network|module|args|cfg|config|opts?|self|cls|accelerator|trainer|pipe|pipeline|policy|agent|"
    r"spec|space|batch|data|inputs?|encodings?|storage|params?|parameters)\d*$"
)
"""Names of modules, settings and containers, which have a `device` as well."""
_SETTINGS = pattern(
    r"(?:^|[._])(?:args|cfg|config|opts?|flags|hparams|hps|\w*(?:batch|manag|handl|help|control|schedul|track|wrapp|"
    r"load|work|runn|build|pars|plann|process|execut|sampl|tokeniz|render|dispatch|optimiz|train|transform)(?:er|or))$",
    re.IGNORECASE,
)
"""Names of settings, any of which may be called like a method (`args.chunk`, `cfg.clamp`), and of what does some work:
`batcher.narrow(...)`."""
_OF_LISTS = ("pad_sequence", "broadcast_shapes")
_OF_TENSORS = api.TENSOR_ONLY_METHODS | {"long", "float", "int", "bool", "double", "cpu"}
"""What a part of an array or tensor is asked for where it is a tensor: numpy converts by `astype`."""
_OF_COPIES = ("numpy", "data")
"""What the host's copy of a tensor is asked for: whatever else has a `cpu` method, a module or a box, has neither."""
_COMPUTES = pattern(
    r"^forward$|loss|^(?:training|validation|test|predict)_step$|^compute_|^update$|_step$|^__call__$|^_?assign(?:_|$)"
)
_SHAPES_OF_LEVELS = pattern(r"^(?:\w+_)?spatial_shapes$")
_COLLECTIVES = frozenset("all_reduce broadcast reduce all_gather all_gather_into_tensor reduce_scatter_tensor".split())
"""What a process sends to others: tensors, but for the list that `all_gather` fills."""
_LOSS = pattern(r"(?:^|[._\[])(?:\w+_)?loss(?:_(?:total_)?step)?\]?$")


def counts_steps(name: str) -> bool:
    """Whether a name is that of an optimizer's count of steps, or of what follows from the count."""
    return bool(_STEP_COUNTER.search(name))


def counter(name: str) -> Value:
    """The value of a count of steps: a tensor where an optimizer keeps it for each parameter, else a number."""
    if not _OF_A_PARAMETER.search(name):
        return PLAIN
    return tensor(HOST, f"`{name}` counts an optimizer's steps, which torch does on the host")


def value_by_uses(values: Values, node: ast.expr, frame: Frame) -> Value:
    """What an item or attribute of something unknown must be, from what the function asks of it."""
    body = values.body(frame.path)
    written = chain(node)
    return UNKNOWN if body is None or "?" in written else from_uses(values, written, frame, body)


def from_uses(values: Values, name: str, frame: Frame, body: Body, returned: bool = False) -> Value:
    """What a name must be, from the attributes that the function asks of it. `returned`: whether a call gave it.

    How far the evaluation has come is of no matter, and a name is asked about again for whatever it is part of.
    """
    answers = _known.setdefault(values, {})
    key = (frame.path, frame.function, name, frame.at, returned)
    if key not in answers:
        answers[key] = _from_uses(values, name, frame, body, returned)
    return answers[key]


_known: WeakKeyDictionary[Values, dict[tuple[str, int, str, Position, bool], Value]] = WeakKeyDictionary()
"""Answers by (path, function, name, place, whether a call gave it)."""


def _from_uses(values: Values, name: str, frame: Frame, body: Body, returned: bool) -> Value:
    if counts_steps(name) and not returned:
        # `loss_total_step.backward()`: what has gradients is the loss of a step, and counts none.
        trained = _trained_on(name, body.uses(frame.function, name), frame, body)
        return trained if trained is not None else counter(name)
    if ACCELERATOR_NAME.search(name):
        return UNKNOWN  # it has a `gather` and a `backward`, and is no tensor
    used = used_as_module(name, frame, body)
    return used if used is not None else _tensor_or_loader(values, name, frame, body)


def _tensor_or_loader(values: Values, name: str, frame: Frame, body: Body) -> Value:
    uses = body.uses(frame.function, name)
    trained = _trained_on(name, uses, frame, body)
    if trained is not None:
        return trained
    part_of = graded_at(body, frame.function, name)
    if part_of is not None and is_same(body, frame.function, name, frame.at, part_of):
        return tensor(ANYWHERE, f"`{name}` is part of what `backward` runs on (line {part_of})")
    picked = picked_from_at(body, frame.function, name)
    if picked is not None and is_same(body, frame.function, name, frame.at, picked):
        return tensor(ANYWHERE, f"of `{name}` elements are picked that `backward` runs on (line {picked})")
    for attribute, line in uses if uses and not _SETTINGS.search(name) else ():
        if attribute in api.TENSOR_ONLY_METHODS and is_same(body, frame.function, name, frame.at, line):
            because = f"`{name}` is used as a tensor: `{name}.{attribute}` (line {line})"
            return tensor(ANYWHERE, because, Confidence.LIKELY)
    if any(attribute == "size" for attribute, _ in uses):
        asked = body.asks(frame.function, f"{name}.size")  # of arrays and images it is a number, not a method
        if asked is not None and is_same(body, frame.function, name, frame.at, asked):
            return tensor(
                ANYWHERE, f"`{name}` is used as a tensor: `{name}.size(...)` (line {asked})", Confidence.LIKELY
            )
    handed = (
        _copied(name, frame, body)
        or _asked_for_its_device(name, uses, frame, body)
        or _taken_from(name, frame, body)
        or _picked_from(name, uses, frame, body)
        or _handed_on(values, name, frame, body)
    )
    if handed is not None:
        return handed
    if not LOADER_NAME.search(name) or is_plural(name):
        return UNKNOWN
    iterated = any(r.iterable == name for r in values.index.outlines[frame.path].regions if r.kind == "loop")
    if iterated or name in body.iterators(frame.function):
        return Value("loader", HOST, "a DataLoader, by its name and use", Confidence.LIKELY)
    return UNKNOWN


def _copied(name: str, frame: Frame, body: Body) -> Value | None:
    """A tensor, where its copy on the host is used as one."""
    for attribute, line in body.uses(frame.function, f"{name}.cpu()"):
        if attribute == "numpy" and _gives_way_to_arrays(body, frame.function, name, line):
            continue
        if attribute in (*_OF_COPIES, *api.TENSOR_MARKS) and is_same(body, frame.function, name, frame.at, line):
            because = f"`{name}` is used as a tensor: `{name}.cpu().{attribute}` (line {line})"
            return tensor(ANYWHERE, because, Confidence.LIKELY)
    return None


def _gives_way_to_arrays(body: Body, function: int, name: str, line: int) -> bool:
    """`if isinstance(scores, Tensor): labels = labels.cpu().numpy()`: behind the branch it is an array either way."""
    bound = body.definitions(function).get(name, ())
    made = [d for d in bound if d.block and d.how == "assign" and d.at[0] == line and d.value is not None]
    if not any(d.value is not None and chain(d.value).endswith("numpy()") for d in made):
        return False
    around = {d.block[-1][0] for d in made}
    tests = (s.test for s in body.statements(function) if isinstance(s, ast.If) and s.lineno in around)
    return any(_ASKS_FOR_TYPES.search(chain(n.func)) for t in tests for n in nodes_of(t) if isinstance(n, ast.Call))


_ASKS_FOR_TYPES = pattern(r"^(?:isinstance|hasattr|type)$|(?:^|\.)is_tensor$")


def _asked_for_its_device(name: str, uses: list[tuple[str, int]], frame: Frame, body: Body) -> Value | None:
    """A tensor, where what has a device, as modules have, is also gone through, indexed, or handed to torch."""
    line = next((line for attribute, line in uses if attribute == "device"), None)
    if line is None or "." in name or _HAS_A_DEVICE.search(name):
        return None
    handed = (callee for callee, _, _ in body.passed_to(frame.function, name))
    walked = any(callee in _WALKS or callee.startswith("torch.") for callee in handed)
    if not walked and body.array_like(frame.function, name) is None:
        return None
    return tensor(ANYWHERE, f"`{name}` is asked for its device (line {line}) and computed with", Confidence.LIKELY)


def _taken_from(name: str, frame: Frame, body: Body) -> Value | None:
    """A tensor, where a part of what is indexed as arrays are is used as a tensor: `x[:, :2].long()`."""
    for attribute, line in body.uses(frame.function, f"{name}[]"):
        if attribute in _OF_TENSORS and body.array_like(frame.function, name) is not None:
            because = f"a part of `{name}` is used as a tensor: `{name}[...].{attribute}` (line {line})"
            return tensor(ANYWHERE, because, Confidence.LIKELY)
    return None


def _picked_from(name: str, uses: list[tuple[str, int]], frame: Frame, body: Body) -> Value | None:
    """A tensor, where an index that torch makes picks from it beside another, `x[rows, torch.arange(n)]`; and one whose
    copy on the host is an index itself, `table[x.cpu()]`."""
    may_pick = not INDICES_OF_TORCH.isdisjoint(body.callees(frame.function))
    copied = any(attribute == "cpu" for attribute, _ in uses)
    for marked, told, may_be in ((PICKED_BY_TORCH, _PICKED, may_pick), (PICKS_BY_COPY, _PICKS, copied)):
        line = body.array_like(frame.function, name + marked) if may_be else None
        if line is not None and is_same(body, frame.function, name, frame.at, line):
            return tensor(ANYWHERE, f"`{name}` {told} (line {line})", Confidence.LIKELY)
    return None


_PICKED = "is indexed by a tensor that torch makes"
_PICKS = "is used as a tensor: its copy on the host is an index"


def _handed_on(values: Values, name: str, frame: Frame, body: Body) -> Value | None:
    """A tensor, where the function hands a name to a module, or to a function of torch as what that computes with."""
    for callee, line, position in body.passed_to(frame.function, name):
        if callee.endswith("all_gather") and not position:
            continue
        head = callee.partition(".")[0]
        operand = position == 0 or callee.endswith(("einsum", "all_gather", "into_tensor", "scatter_tensor"))
        if head != "self" and (not operand or head in api.PLAIN_BUILTINS):
            continue
        thing = values.types.thing(frame.path, frame.function, callee)
        if thing is None or not is_same(body, frame.function, name, frame.at, line):
            continue
        if thing.kind in ("function", "instance") and _runs_a_module(values, callee, name, frame, body):
            because = f"`{name}` is handed to the module `{callee}` (line {line}) and used as a tensor"
            return tensor(ANYWHERE, because, Confidence.LIKELY)
        if head == "self":
            if from_thing(values, thing, callee).kind == "module" and not _SIDES.search(name):
                because = f"`{name}` is handed to the module `{callee}` (line {line})"
                return tensor(ANYWHERE, because, Confidence.LIKELY)
        elif thing.kind == "external" and _computes_with(thing.dotted):
            return tensor(ANYWHERE, f"`{name}` is handed to `{callee}` (line {line})", Confidence.LIKELY)
    return None


def _runs_a_module(values: Values, callee: str, name: str, frame: Frame, body: Body) -> bool:
    """Whether a call, `model(x)` or `model.forward(x)`, runs a module on what is indexed as tensors and arrays are."""
    model = callee.removesuffix(".forward")
    if not model.isidentifier() or model == "self" or _SIDES.search(name):
        return False
    thing = values.types.thing(frame.path, frame.function, model)
    known = thing is not None and thing.kind == "instance" and values.types.is_module_class(thing)
    return known and body.array_like(frame.function, name) is not None


_SIDES = pattern(r"(?:^|_)(?:shapes?|sizes?|resolutions?|hw|list)$|^(?:n|num)_")
"""What modules are given beside tensors: numbers, or lists of them, as often as tensors."""


def _computes_with(dotted: str) -> bool:
    """Whether the first argument of a function of torch is a tensor."""
    if dotted.startswith(("torch.nn.functional.", "torch.linalg.", "torch.fft.")):
        return not dotted.endswith(_OF_LISTS)
    if dotted.startswith("torch.distributed."):
        return dotted.removeprefix("torch.distributed.") in _COLLECTIVES
    name = dotted.removeprefix("torch.")
    return dotted != name and (name in api.TAKE_A_TENSOR or name == "einsum")


def of_forward(values: Values, name: str, frame: Frame, body: Body) -> Value:
    """A parameter of a module's `forward`, of what that calls of the module, or of a loss.

    It is a tensor where it is used as tensors and arrays are.
    """
    if _SHAPES_OF_LEVELS.search(name) and _is_given_levels(values, frame):
        because = f"`{name}` goes with `level_start_index` into deformable attention, which takes tensors"
        return tensor(ANYWHERE, because, Confidence.LIKELY)
    hooked = _given_to_hook(values, name, frame)
    if hooked is not None:
        return hooked
    if not _takes_tensors(values, frame):
        return UNKNOWN
    uses = body.uses(frame.function, name)
    line = next((line for attribute, line in uses if attribute in api.ARRAY_METHODS or attribute == "unique"), None)
    line = line if line is not None else body.array_like(frame.function, name)
    if line is None:
        return UNKNOWN
    return tensor(ANYWHERE, f"`{name}` is given to the module and used as a tensor (line {line})", Confidence.LIKELY)


def of_unpacked(values: Values, name: str, reaching: Sequence[Definition], frame: Frame, body: Body) -> Value:
    """A part of what a module is given in one piece, as a parameter would be.

    `points, features, offsets = inputs`, and an entry of a dict, `batch = data["batch"]`.
    """
    given = {parameter.name for parameter in values.index.outlines[frame.path].functions[frame.function].parameters}
    parts = (isinstance(whole := _whole(d), ast.Name) and whole.id in given for d in reaching)
    return of_forward(values, name, frame, body) if reaching and all(parts) else UNKNOWN


def _whole(d: Definition) -> ast.expr | None:
    """What a name is bound to a part of: `inputs` of `x, y = inputs` and of `x = inputs["x"]`."""
    if d.how == "item":
        return d.value if isinstance(d.value, ast.Name) else None
    entry = d.value if d.how == "assign" and isinstance(d.value, ast.Subscript) and is_text(d.value.slice) else None
    return entry.value if entry is not None and isinstance(entry.value, ast.Name) else None


def _is_given_levels(values: Values, frame: Frame) -> bool:
    """Whether a function is given what deformable attention is: the shapes of levels, and where each begins."""
    parameters = values.index.outlines[frame.path].functions[frame.function].parameters
    return any(p.name.endswith("level_start_index") for p in parameters)


def _takes_tensors(values: Values, frame: Frame) -> bool:
    """Whether what a function is given is tensors, if it is arrays at all."""
    key = FunctionKey(frame.path, frame.function)
    hot = values.hotness.functions.get(key)
    if hot is None or hot.kind not in ("forward", "step", "update"):
        return False
    if any(key == compares for compares, _ in values.hotness.dispatch.looked_up):
        return True
    if not hot.depth:
        return bool(_COMPUTES.search(values.index.outlines[frame.path].functions[frame.function].name))
    own = values.index.class_of(frame.path, frame.function)
    return hot.kind == "forward" and own is not None and values.types.is_module_class(own)


def _given_to_hook(values: Values, name: str, frame: Frame) -> Value | None:
    """What a hook gets last: a gradient, or the output of the module; both may be tuples, where they are indexed."""
    if FunctionKey(frame.path, frame.function) not in values.hotness.dispatch.hooked:
        return None
    parameters = values.index.outlines[frame.path].functions[frame.function].parameters
    given = [p.name for p in parameters if not p.default]  # `def hook(module, args, out, _seen=seen)`
    if not given or given[-1] != name:
        return None
    return tensor(ANYWHERE, f"`{name}` is what the hook is given: a tensor", Confidence.LIKELY)


def _trained_on(name: str, uses: list[tuple[str, int]], frame: Frame, body: Body) -> Value | None:
    """What has gradients, or is a loss by its name and asked as tensors are, while it is bound to the same.

    That is read by `.item()`, or asked for its dimensions: `if loss.ndim == 0`.
    """
    for attribute, line in uses:
        if attribute == "backward" and is_same(body, frame.function, name, frame.at, line):
            return tensor(ANYWHERE, f"`{name}` has gradients: `{name}.backward()` (line {line})")
    for attribute, line in uses if _LOSS.search(name) else ():
        if attribute in ("item", "ndim") and is_same(body, frame.function, name, frame.at, line):
            asked = f"{attribute}()" if attribute == "item" else attribute
            because = f"`{name}`, a loss by its name: `{name}.{asked}` (line {line})"
            return tensor(ANYWHERE, because, Confidence.LIKELY)
    return None


def used_as_module(name: str, frame: Frame, body: Body) -> Value | None:
    """A module, where the function uses the name as one."""
    for attribute, line in body.uses(frame.function, name):
        if attribute in api.MODULE_USES:
            because = f"`{name}` is used as a module: `{name}.{attribute}` (line {line})"
            return Value("module", ANYWHERE, because, Confidence.LIKELY)
    return None
