"""What a loop keeps from turn to turn together with its graph."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from torchperf_lint.facts.autograd.stores import Store, outlives, own_loop, root_of, store_of
from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.bindings.effects import names_in, statements
from torchperf_lint.facts.call_graph.index import FunctionKey, Thing
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.files.spots import Spot, hot_functions
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.values.grads import Graph
from torchperf_lint.facts.values.value import ANYWHERE, Frame, Value, tensor
from torchperf_lint.model import Confidence
from torchperf_lint.patterns import pattern

SHORT = 80
_ROUNDS = 6
"""How many names may stand between a value and the backward pass that it feeds."""
_HOOKS = frozenset("training_step validation_step test_step predict_step train_step compute_loss".split())
"""Methods of modules that are no part of their forward pass."""
_COUNTED = pattern(r"(?:^|_)(?:counts?|samples|num|n|lens?|lengths?)$|^(?:num|n|count)_\w+$")
"""Names of numbers of things, which carry no graph."""
LOSS_NAME = pattern(
    r"loss|criteri|cost|(?:^|_)nll|(?:^|_)kld?(?:_|$)|penalty|objective|(?:^|[._])(?:mse|bce|ce)(?:_|$)|entropy",
    re.IGNORECASE,
)


class Kept(NamedTuple):
    """A store that keeps a graph in every turn."""

    spot: Spot
    store: Store
    graph: Graph
    trained: bool
    """Whether the same turn computes gradients through the graph; else nothing ever does."""
    meter: tuple[str, int] | None = None
    """Of a call: path and line where the called method adds the value up."""

    @property
    def as_value(self) -> Value:
        """What is kept, as a value with its evidence."""
        return tensor(ANYWHERE, self.graph.because, self.graph.confidence)


def is_loss(kept: Kept) -> bool:
    """Whether what is kept is a loss (a number a step), not an output of the model: by what it is called or made by."""
    if kept.store.how != "store":
        return True
    calls = {chain(part.func) for part in ast.walk(kept.store.value) if isinstance(part, ast.Call)}
    written = names_in(kept.store.value, kept.store.target) | calls
    return any(LOSS_NAME.search(last_part(name)) for name in written)


def detached(kept: Kept) -> str:
    """What to write instead, with what is kept cut off from its graph."""
    file, node = kept.spot.file, kept.store.value
    value, statement = (" ".join(file.source(n).split()) for n in (node, kept.store.statement))
    if isinstance(node, ast.Dict | ast.List | ast.Tuple | ast.Set):
        return f"keep what is in `{file.brief(node)}` detached, each tensor by its own `.detach()`"
    simple = isinstance(node, ast.Name | ast.Attribute | ast.Call | ast.Subscript)
    cut = f"{value}.detach()" if simple else f"({value}).detach()"
    before, _, after = statement.rpartition(value)
    return f"`{before}{cut}{after}`" if len(statement) <= SHORT else f"keep `{file.brief(node)}` detached"


def kept_graphs(file: SourceFile) -> tuple[Kept, ...]:
    """The stores of a file's hot code that keep graphs, in order; as sure as the graph, the loop and the target are."""
    body = file.project.body(file.path)
    if body is None:
        return ()
    return tuple(kept for spot, store in _hot_stores(file, body) for kept in _judged(spot, store, body))


def _hot_stores(file: SourceFile, body: Body) -> Iterator[tuple[Spot, Store]]:
    for function in hot_functions(file):
        if _is_forward_code(file, function):
            continue
        for statement in file.enclosing(function).of_kinds((ast.AugAssign, ast.Assign, ast.Expr)):
            assert isinstance(statement, ast.stmt)
            store = store_of(statement)
            hot = file.project.hotness.at(file.path, body.at(statement)) if store is not None else None
            if store is not None and hot is not None and hot.kind in ("step", "eval"):
                yield Spot(file, statement, function, hot, body.at(statement)), store


def _is_forward_code(file: SourceFile, function: int) -> bool:
    """What a module's methods add up is composition for whoever computes gradients, if they do not do so themselves."""
    record = file.outline.functions[function]
    if record.class_index < 0 or record.name in _HOOKS:
        return False
    if file.project.grads.backwards(FunctionKey(file.path, function)):
        return False
    return file.project.types.is_module_class(Thing("class", file.path, record.class_index))


def _judged(spot: Spot, store: Store, body: Body) -> Iterator[Kept]:
    grads = spot.file.project.grads
    sure = outlives(spot, store, body)
    if sure is None or (store.how == "sum" and grads.mode.is_off_at(spot.file.path, spot.start)):
        return
    if _is_given_to_a_library(spot, store) or _is_copied_without_gradients(spot, store):
        return
    called = store.how == "call" or _is_own_method(spot, store)
    meter = _meter(spot, store) if called else None
    if called and meter is None:
        return
    if store.how == "sum" and _COUNTED.search(last_part(chain(store.value))):
        return
    if spot.file.value(store.value, spot).kind in ("plain", "array", "module", "optimizer"):
        return
    graph = grads.of(store.value, spot.frame._replace(at=body.at(store.value)))
    if graph is None or _feeds_backward(spot, store.target, body) or _is_read_by_numpy(spot, store):
        return
    trained = _is_trained(spot, store.value, body)
    if not trained and spot.hot.kind != "eval":
        return
    graph = graph.weaker(spot.hot.confidence).weaker(Confidence.POSSIBLE if spot.hot.optional else sure)
    yield Kept(spot, store, graph, trained, meter)


def _is_given_to_a_library(spot: Spot, store: Store) -> bool:
    """`tracker.add({"loss": loss})` of an imported module, which may keep numbers only; a set is no module."""
    call = getattr(store.statement, "value", None) if isinstance(store.statement, ast.Expr) else None
    if not isinstance(call, ast.Call) or last_part(chain(call.func)) != "add":
        return False
    return chain(call.func).partition(".")[0] in spot.file.outline.imports


def _is_copied_without_gradients(spot: Spot, store: Store) -> bool:
    """`losses[i] = loss` into a tensor, under `no_grad`: numbers are copied, and no graph; a list would keep it."""
    if not isinstance(store.target, ast.Subscript) or not isinstance(store.statement, ast.Assign):
        return False
    off = spot.file.project.grads.mode.is_off_at(spot.file.path, spot.start)
    return off and spot.file.value(store.target.value, spot).kind == "tensor"


def _is_own_method(spot: Spot, store: Store) -> bool:
    """`meter.add(loss)` of a class of the project, which may keep what it is given or a number of it."""
    call = getattr(store.statement, "value", None) if isinstance(store.statement, ast.Expr) else None
    if not isinstance(call, ast.Call):
        return False
    return bool(spot.file.project.types.targets(spot.file.path, spot.function, chain(call.func)))


def _meter(spot: Spot, store: Store) -> tuple[str, int] | None:
    """Where a method of the project adds up what it is given first, with its graph; None for any other method."""
    project, node = spot.file.project, getattr(store.statement, "value", None)
    assert isinstance(node, ast.Call)
    targets = project.types.targets(spot.file.path, spot.function, chain(node.func))
    found = [_adds_up(spot, key, node) for key in targets[:4]]
    return found[0] if found and all(found) else None


def _adds_up(spot: Spot, key: FunctionKey, node: ast.Call) -> tuple[str, int] | None:
    project = spot.file.project
    body, record = project.body(key.path), project.index.function(key)
    if body is None or record.class_index < 0 or project.grads.mode.is_off(key, 0):
        return None
    own = record.parameters[0].name if record.parameters else ""
    for statement in statements(body.functions[key.index].body):
        store = store_of(statement)
        replaces = store is not None and store.how == "store" and isinstance(statement, ast.Assign)
        if store is None or replaces or store.how == "call" or root_of(store.target)[0] != own:
            continue
        frame = Frame(key.path, key.index, body.at(store.value))
        if project.grads.given(store.value, frame, node, spot.frame) is not None:
            return key.path, statement.lineno
    return None


# -- does anybody need the graph -----------------------------------------------------------------------


def feeding(target: ast.expr, body: Body, function: int) -> set[str]:
    """The names and attributes that an expression is made of, through the bindings and stores of its function."""
    found = names_in(target)
    definitions = body.definitions(function)
    attributes: dict[str, list[ast.expr]] = {}
    for name, value, _ in body.self_assignments(function):
        attributes.setdefault(f"self.{name}", []).append(value)
    for _ in range(_ROUNDS):
        before = len(found)
        for name in sorted(found):
            made = [d.value for d in definitions.get(name, ()) if d.value is not None]
            found |= names_in(*made, *attributes.get(name, ()), *body.stored_items(function, name))
        if len(found) == before:
            break
    return found


def _feeds_backward(spot: Spot, target: ast.expr, body: Body) -> bool:
    """Whether gradients are computed through what the target collects: then it is no statistic."""
    grads, index, path = spot.file.project.grads, spot.file.project.index, spot.file.path
    root, own = root_of(target)
    cls = index.class_of(path, spot.function) if own else None
    name = f"{root}.{own}" if cls is not None else root
    functions = {spot.function}
    if cls is not None and cls.path == path:
        functions.update(index.record(cls).methods.values())
    return any(
        name in feeding(place.target, body, number)
        for number in sorted(functions)
        for place in grads.backwards(FunctionKey(path, number))
    )


def _is_read_by_numpy(spot: Spot, store: Store) -> bool:
    """Whether numpy reads what is collected: it refuses tensors with a graph, so these have none, whatever it seems."""
    root, _ = root_of(store.target)
    for node in spot.file.enclosing(spot.function).parents:
        if not isinstance(node, ast.Call):
            continue
        name = chain(node.func)
        by_numpy = name.startswith(("np.", "numpy.")) or last_part(name) == "numpy"
        if by_numpy and root in names_in(node) and "detach" not in ast.unparse(node):
            return True
    return False


def _is_trained(spot: Spot, value: ast.expr, body: Body) -> bool:
    """Whether the same turn computes gradients through a value: in the loop, in what returned it, or by a framework."""
    key = FunctionKey(spot.file.path, spot.function)
    region, names = own_loop(spot), names_in(value)
    made_of = _made_in_the_turn(feeding(value, body, spot.function), body, spot)
    for place in spot.file.project.grads.backwards(key):
        inside = region is None or region.start <= place.at < region.end
        if inside and made_of & feeding(place.target, body, spot.function):
            return True
    if _comes_from_training(spot, value, body) or _is_handed_to_training(spot, names):
        return True
    function = spot.file.outline.functions[spot.function]
    if function.name != "training_step" or function.class_index < 0:
        return False
    returned = [feeding(node, body, spot.function) for node in body.returns(spot.function)]
    return any(made_of & found for found in returned)


def _made_in_the_turn(names: set[str], body: Body, spot: Spot) -> set[str]:
    """The names that are assigned in the turn, and attributes: not the model, not what the loop itself binds."""
    definitions, region = body.definitions(spot.function), own_loop(spot)
    found = {name for name in names if "." in name}
    for name in names & definitions.keys():
        inside = [d for d in definitions[name] if region is None or (region.head, "loop") in d.block]
        if any(d.how != "loop" for d in inside):
            found.add(name)
    return found


def _comes_from_training(spot: Spot, value: ast.expr, body: Body) -> bool:
    """`loss = train_step(batch)`: a function that does the step itself and hands the loss back."""
    made = [value]
    for name in names_in(value):
        reaching = body.reaching(spot.function, name, spot.start) if "." not in name else None
        made += [d.value for d in reaching or () if d.value is not None and d.how in ("assign", "item")]
    calls = [part for node in made for part in ast.walk(node) if isinstance(part, ast.Call)]
    return any(_trains(spot, call) for call in calls)


def _is_handed_to_training(spot: Spot, names: set[str]) -> bool:
    """`scaler(loss, optimizer)`: a call that is given the value and computes gradients itself."""
    region = own_loop(spot)
    for node in spot.file.enclosing(spot.function).parents:
        if not isinstance(node, ast.Call) or not names & {chain(a) for a in node.args[:2]}:
            continue
        if (region is None or region.start[0] <= node.lineno <= region.end[0]) and _trains(spot, node):
            return True
    return False


def _trains(spot: Spot, call: ast.Call) -> bool:
    loops, types = spot.file.project.hotness.loops, spot.file.project.types
    targets = types.targets(spot.file.path, spot.function, chain(call.func))
    return any(loops.training.trains(target, 2) is not None for target in targets)
