"""Moves of modules and tensors that a hot loop repeats although nothing about them changes."""

from __future__ import annotations

import ast
from typing import NamedTuple

from torchperf_lint.facts.call_graph.index import FunctionKey
from torchperf_lint.facts.call_graph.passed import argument_for, call_at, passed_by
from torchperf_lint.facts.copies.called_like_modules import called_like_a_module
from torchperf_lint.facts.copies.computed import computed_left_behind
from torchperf_lint.facts.copies.handed_out_again import are_handed_out_again, is_handed_out_again, is_own_move
from torchperf_lint.facts.copies.held_around import held_around
from torchperf_lint.facts.copies.host_data import made_on_host
from torchperf_lint.facts.copies.kept_before_loops import kept_before_loop
from torchperf_lint.facts.copies.kept_beside import kept_beside
from torchperf_lint.facts.copies.kept_by_objects import kept_by_object
from torchperf_lint.facts.copies.kept_samples import kept_by_sample
from torchperf_lint.facts.copies.left_behind import left_behind
from torchperf_lint.facts.copies.loaded_at_import import is_called_once_moved, loaded_at_import
from torchperf_lint.facts.copies.made_transforms import made_transform
from torchperf_lint.facts.copies.modules_given import only_others_give_modules
from torchperf_lint.facts.copies.tables_at_import import entry_at_import
from torchperf_lint.facts.devices.blocking import is_blocking
from torchperf_lint.facts.devices.devices import moves_to_device
from torchperf_lint.facts.files.source import Site
from torchperf_lint.facts.outlines.records import END_OF_FILE, Position
from torchperf_lint.facts.syntax.arguments import arguments, moved_to
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.values.value import HOST, Frame, Value, tensor
from torchperf_lint.model import Confidence

_MOVES = frozenset({"to", "cuda", "cpu"})
_MAX_CALLERS = 8
"""Calls looked at for what a parameter is given."""


class Repeated(NamedTuple):
    """What is moved again at every step."""

    kind: str
    """module, tensor, constant (of the Python module), sample (what one of many objects keeps), made: a module made
    anew, of nothing but constants, or transform: one that computes tables when it is made."""
    value: Value


def repeated_move(site: Site) -> Repeated | None:
    """What a hot `.to(device)` or `.cuda()` moves to the device every time, though it was made before; else None.

    What is quick to tell is asked first: most of what is moved is neither.
    """
    if site.receiver is None or site.hot is None:
        return None
    settled = _settled_tensor(site, site.receiver) or _settled_module(site, site.receiver)
    found = settled or _made_module(site, site.receiver)
    if found is None or not moves_to_device(site.file.project.values, site.call, site.frame):
        return None
    return found


def _settled_tensor(site: Site, receiver: ast.expr) -> Repeated | None:
    """A tensor on the host that was made before the loop, or that an object keeps there."""
    values = site.file.project.values
    held = left_behind(values, receiver, site.frame)
    if held is None and isinstance(receiver, ast.Call | ast.Name):
        held = computed_left_behind(values, site.call, site.frame)
    if held is not None:
        return None if held.in_module or _is_one_entry(site, receiver) else Repeated("tensor", held.value)
    receiver = _uncut(receiver)
    if isinstance(receiver, ast.Attribute):
        beside = kept_beside(site, receiver)
        return Repeated("tensor", beside) if beside is not None else _kept_by_another(site, receiver)
    entry = entry_at_import(values, receiver, site.frame)
    if entry is not None and not site.hot.optional:  # type: ignore[union-attr]
        return Repeated("constant", entry)
    return _settled_name(site, receiver) if isinstance(receiver, ast.Name) else None


def _settled_name(site: Site, receiver: ast.Name) -> Repeated | None:
    """The same of a name, of the function or of the file."""
    values = site.file.project.values
    given = _given_held(site, receiver.id) or _from_around(site, receiver)
    if given is not None:
        return Repeated("tensor", given)
    loaded = loaded_at_import(values, receiver, site.frame)
    if loaded is not None:
        return Repeated("constant", loaded) if not is_called_once_moved(site) else None
    made = made_on_host(values, receiver, site.frame)
    span = span_of_loop(site)
    body = site.file.project.body(site.file.path)
    if made is not None and made.function == 0 < site.function and not site.hot.optional:  # type: ignore[union-attr]
        because = f"`{receiver.id}` is made on the host by `torch.{made.factory}` (line {made.call.lineno}), at import"
        return Repeated("constant", tensor(HOST, because))
    if body is None or span is None:
        return None
    if made is None:
        kept = kept_before_loop(site, receiver, span[0])
        return None if kept is None or _is_changed(site, receiver.id) else Repeated("tensor", kept)
    if made.function == site.function and span[0] <= body.at(made.call) < span[1]:
        return None
    if _is_bound_within(site, receiver.id, span) or _is_changed(site, receiver.id):
        return None
    because = (
        f"`{receiver.id}` is made on the host by `torch.{made.factory}` (line {made.call.lineno}), before the loop"
    )
    return Repeated("tensor", tensor(HOST, because))


def _kept_by_another(site: Site, receiver: ast.Attribute) -> Repeated | None:
    """A tensor that an object around the function keeps, one that was there before the loop, or one of several."""
    around, turns = held_around(site, receiver), span_of_loop(site)
    if around is None and turns is not None:
        around = kept_by_object(site, receiver, turns)
    if around is not None or turns is None or not is_blocking(site.call):
        return Repeated("tensor", around) if around is not None else None
    sample = kept_by_sample(site, receiver, turns)
    return Repeated("sample", sample) if sample is not None else None


def _uncut(receiver: ast.expr) -> ast.expr:
    """`table` of `table[:]` and `table[:3]`: the same part each time."""
    if not isinstance(receiver, ast.Subscript) or not isinstance(receiver.slice, ast.Slice):
        return receiver
    bounds = (receiver.slice.lower, receiver.slice.upper, receiver.slice.step)
    return receiver.value if all(bound is None or isinstance(bound, ast.Constant) for bound in bounds) else receiver


def _is_one_entry(site: Site, receiver: ast.expr) -> bool:
    """`self.sigmas[self.step_index]`: another entry at each step, and what a tensor of the device may be mixed with."""
    if not isinstance(receiver, ast.Subscript) or isinstance(receiver.slice, ast.Slice | ast.Tuple | ast.Constant):
        return False
    if isinstance(receiver.slice, ast.Name) and _counts_turns(site, receiver.slice.id):
        return False  # `for i in range(self.levels): self.anchors[i].to(device)` moves all of them
    return site.file.value(receiver.slice, site).kind not in ("tensor", "batch", "array", "sequence")


def _counts_turns(site: Site, name: str) -> bool:
    """Whether a name is the variable of a loop of the function over a number of turns."""
    body = site.file.project.body(site.file.path)
    reaching = body.reaching(site.function, name, site.start) if body is not None else None
    return bool(reaching) and all(
        d.how == "loop" and isinstance(d.value, ast.Call) and chain(d.value.func) in ("range", "enumerate")
        for d in reaching or ()
    )


def _given_held(site: Site, name: str) -> Value | None:
    """What a parameter is, where every caller gives it a tensor that an object keeps on the host; else None."""
    project = site.file.project
    key, body = FunctionKey(site.file.path, site.function), project.body(site.file.path)
    record = project.index.function(key)
    takes = any(parameter.name == name for parameter in record.parameters)
    callers = project.hotness.callers.get(key, ()) if takes else ()
    if body is None or not 0 < len(callers) <= _MAX_CALLERS or body.reaching(site.function, name, site.start):
        return None
    found: list[Value] = []
    for caller in callers:
        path, call = caller
        node = call_at(project.values, caller)
        argument = argument_for(node, record, name) if node is not None else None
        at = Frame(path, call.function, (call.line, call.column))
        held = left_behind(project.values, argument, at) if argument is not None else None
        if held is None:
            return None
        found.append(held.value.with_reason(passed_by(path, call.line, held.value.because)))
    return found[0]


def _from_around(site: Site, receiver: ast.Name) -> Value | None:
    """A tensor on the host that the function around made once, where what is inside, a hook, runs at every step."""
    project, body = site.file.project, site.file.project.body(site.file.path)
    functions = site.file.outline.functions
    record, name = functions[site.function], receiver.id
    if body is None or record.parent <= 0 or body.definitions(site.function).get(name):
        return None
    if any(parameter.name == name for parameter in record.parameters) or site.hot is None or site.hot.optional:
        return None
    bound = body.definitions(record.parent).get(name)
    if not bound or FunctionKey(site.file.path, record.parent) in project.hotness.functions:
        return None
    value = site.file.value(receiver, site)
    kept = value.kind == "tensor" and value.device == HOST and value.confidence is Confidence.CERTAIN
    made = (
        f"`{name}` is made once, on the host, by `{functions[record.parent].name}` around this (line {bound[-1].at[0]})"
    )
    return tensor(HOST, made) if kept else None


def made_each_turn(site: Site, path: str, made: ast.Call) -> bool:
    """Whether what a call in the file `path` makes is made as often as a hot site runs, and not before its loop."""
    loop = site.hot.loop if site.hot is not None and not site.hot.depth else None
    if loop is None or path != site.file.path:
        return True
    region = site.file.outline.regions[loop[1]]
    return region.start[0] <= made.lineno <= region.end[0]


def span_of_loop(site: Site) -> tuple[Position, Position] | None:
    """From where to where the loop that makes a site hot turns; None where the loop is another function's."""
    loop = site.hot.loop if site.hot is not None else None
    if loop is None or site.hot is None or site.hot.depth or loop[0] != site.file.path:
        return None
    region = site.file.outline.regions[loop[1]]
    return ((region.head, 1), region.end) if region.function == site.function else None


def _is_bound_within(site: Site, name: str, span: tuple[Position, Position]) -> bool:
    body = site.file.project.body(site.file.path)
    bound = body.definitions(site.function).get(name, ()) if body is not None else ()
    return any(span[0] <= definition.at < span[1] for definition in bound)


def _is_changed(site: Site, name: str) -> bool:
    """Whether the function writes into a tensor, which then is not the same at every step."""
    body = site.file.project.body(site.file.path)
    if body is None:
        return True
    written = any(attribute.endswith("_") for attribute, _ in body.uses(site.function, name))
    return written or bool(body.stored_items(site.function, name))


def _settled_module(site: Site, receiver: ast.expr) -> Repeated | None:
    """A module; in a forward pass only what an object holds, since what has a name there is a tensor."""
    if isinstance(receiver, ast.Subscript) and isinstance(receiver.value, ast.Attribute):
        return _module_of_several(site, receiver)
    held = isinstance(receiver, ast.Attribute)
    held = held or (isinstance(receiver, ast.Name) and are_handed_out_again(site, receiver.id))
    if not held and (not isinstance(receiver, ast.Name) or site.hot is None or site.hot.kind == "forward"):
        return None
    value = site.file.value(receiver, site)
    if value.kind in ("unknown", "tensor") and isinstance(receiver, ast.Attribute):
        value = called_like_a_module(site, receiver) or value
    if value.kind != "module" or not _is_settled(site, receiver):
        return None
    key = FunctionKey(site.file.path, site.function)
    if not held and only_others_give_modules(site.file.project, key, chain(receiver)):
        return None
    return Repeated("module", value)


def _module_of_several(site: Site, receiver: ast.Subscript) -> Repeated | None:
    """`self.experts[i]`, of a ModuleList or ModuleDict: one `to` moves all of them, before.

    Elements of a ParameterDict are tensors: of those, `to` gives a copy, which is kept.
    """
    parent = site.file.enclosing(site.function).parents.get(site.call)
    called = isinstance(parent, ast.Call) and parent.func is site.call
    if not called and not isinstance(parent, ast.Expr):
        return None
    value = site.file.value(receiver.value, site)
    return Repeated("module", value) if value.kind == "module" and _is_settled(site, receiver.value) else None


def _made_module(site: Site, receiver: ast.expr) -> Repeated | None:
    """`LPIPS(net="vgg").to(x.device)`, not kept: the same module each time, weights read and copied.

    Of `nn.Linear(8, 8)` and what takes variables each may be meant to be another.
    """
    if not isinstance(receiver, ast.Call):
        return None
    transform = made_transform(site, receiver)
    if transform is None and any(not _is_constant(argument) for argument in arguments(receiver)):
        return None
    statement = site.file.enclosing(site.function).statement(site.call)
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    if isinstance(statement, ast.Return | ast.AnnAssign) or not all(isinstance(t, ast.Name) for t in targets):
        return None
    if transform is not None:
        return Repeated("transform", transform)
    thing = site.file.project.values.thing(receiver.func, site.frame)
    made = thing is not None and thing.kind == "class" and site.file.project.types.is_module_class(thing)
    loss = thing is not None and thing.dotted.startswith("torch.nn.") and thing.dotted.endswith("Loss")
    return Repeated("made", site.file.value(receiver, site)) if made or loss else None


def _is_constant(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant)


def _is_settled(site: Site, receiver: ast.expr) -> bool:
    """A module that was there before: not one made, chosen or brought back from the host in this code."""
    written = chain(receiver)
    if not isinstance(receiver, ast.Name | ast.Attribute) or "?" in written or "(" in written or "[" in written:
        return False
    if _leaves_the_device(site, written):
        return False
    body = site.file.project.body(site.file.path)
    if body is None:
        return False
    start, end = span_of_loop(site) or ((0, 0), END_OF_FILE)
    head = written.partition(".")[0]
    for definition in body.definitions(site.function).get(head, ()):
        again = is_own_move(definition, head) or is_handed_out_again(site, definition)
        if start <= definition.at < end and not again:
            return False
    bindings = site.file.outline.bindings
    inside = [
        b for b in bindings if b.function == site.function and b.target == written and start[0] <= b.line < end[0]
    ]
    return all(b.value.startswith(f"{written}.") for b in inside if "." in written)


def _leaves_the_device(site: Site, written: str) -> bool:
    """Whether any code of the file brings the module back to the host, to make room: then it has to be moved again."""
    body = site.file.project.body(site.file.path)
    for call in site.file.outline.calls:
        owner, _, name = call.callee.rpartition(".")
        if name not in _MOVES or last_part(owner).removesuffix("[]") != last_part(written):
            continue
        node = body.node_of(call) if body is not None else None
        if name == "cpu" or (node is not None and _to_host(node)):
            return True
    return False


def _to_host(node: ast.Call) -> bool:
    """`.to("cpu")`, and `.to(self.offload_device)`."""
    target = moved_to(node)
    if isinstance(target, ast.Call) and target.args:
        target = target.args[0]
    if isinstance(target, ast.Constant):
        return target.value in ("cpu", "meta")
    name = last_part(chain(target)) if target is not None else ""
    return "offload" in name or "cpu" in name or "storage" in name
