"""Data that a module holds since it was built: no step changes it, whatever the constructor was given."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.bindings.hints import SEQUENCES, annotation_words, default_of
from torchperf_lint.facts.call_graph.index import FunctionKey, Thing
from torchperf_lint.facts.roles.cold import is_cold
from torchperf_lint.facts.syntax.chains import chain
from torchperf_lint.facts.values.value import Frame
from torchperf_lint.facts.values.values import Values
from torchperf_lint.patterns import pattern

CHANGES = frozenset(
    "append extend insert pop remove clear sort reverse appendleft popleft update setdefault popitem add discard fill "
    "put resize".split()
)
"""Methods that change a container in place."""
LIST_CHANGES = frozenset("append extend insert pop remove clear sort reverse appendleft popleft".split())
"""Of those, the ones of lists and queues."""
_TRAINER = pattern(r"Trainer$")
_STEADY_INDEX = pattern(r"(?:^|_)(?:name|adapter|key|task|level|layer|stage|scale|head|branch)s?(?:_name)?$")
"""Names of what chooses among things that were set up, rather than among samples."""


def held_since_construction(values: Values, node: ast.expr, frame: Frame) -> bool:
    """Whether `self.table`, or `self.tables[name]`, of an nn.Module is only ever set while the module is built.

    A name that is bound to it and nothing else stands for it; tensors count where a test has ruled them out before.
    """
    ruled_out = _is_no_tensor(values, node, frame)
    node, frame = _stands_for(values, node, frame)
    attribute = _attribute(node)
    own = values.index.class_of(frame.path, frame.function)
    if attribute is None or own is None or not _is_built_once(values, own):
        return False
    if values.thing(attribute.value, frame) != own:
        return False
    kind = values.of(node, frame).kind
    if kind in ("module", "object", "loader") or (kind in ("tensor", "batch") and not ruled_out):
        return False
    setters = [key for cls in values.index.ancestry(own) for key in changed_in(values, cls, attribute.attr)]
    return (
        bool(setters) and all(builds(values, key) for key in setters) and not set_from_outside(values, own, attribute)
    )


def _is_no_tensor(values: Values, node: ast.expr, frame: Frame) -> bool:
    """Whether `if not isinstance(mean, torch.Tensor):` was asked before."""
    body = values.body(frame.path)
    tested = body.narrowing(frame.function, chain(node), frame.at) if body is not None else None
    return tested is not None and not tested.holds and "Tensor" in tested.classes


def _stands_for(values: Values, node: ast.expr, frame: Frame) -> tuple[ast.expr, Frame]:
    """What a local name is bound to, where that is one attribute: `mean = self.mean`."""
    body = values.body(frame.path) if isinstance(node, ast.Name) else None
    reaching = body.reaching(frame.function, chain(node), frame.at) if body is not None else None
    only = reaching[0] if reaching and len(reaching) == 1 else None
    if body is None or only is None or only.how != "assign" or not isinstance(only.value, ast.Attribute):
        return node, frame
    return only.value, frame.back(body.at(only.value))


def _is_built_once(values: Values, own: Thing) -> bool:
    """A module, or an object that no step makes: a loss, a processor of logits, an agent or trainer.

    Of other objects, as batches and hypotheses are, nobody knows how long they live.
    """
    if values.types.is_module_class(own) or any(map(_TRAINER.search, values.index.class_names(own))):
        return True
    called = values.index.method(own, "__call__")
    hot = values.hotness.functions.get(called) if called is not None else None
    if hot is not None and not hot.depth:
        return True
    methods = frozenset(values.index.record(own).methods.values())
    if any(values.hotness.loops.training.trains(FunctionKey(own.path, method), 1) is not None for method in methods):
        return True
    # A method that loops over steps itself is one of what lives through them.
    calls = values.index.outlines[own.path].calls
    if any(call.function in methods and call.callee.endswith(".backward") for call in calls):
        return True
    return _is_made_in_cold_code(values, own)


def _is_made_in_cold_code(values: Values, own: Thing) -> bool:
    """Whether the project makes the object, or one of a class below, and never in code that runs at every step."""
    below = [own, *values.index.subclasses.get((own.path, own.index), ())]
    made = []
    for cls in below:
        constructor = values.index.record(cls).methods.get("__init__")
        sites = values.hotness.callers.get(FunctionKey(cls.path, constructor), ()) if constructor is not None else ()
        made += [
            site
            for site in sites
            if values.index.function(FunctionKey(site.path, site.call.function)).name != "__init__"
        ]
    return bool(made) and not any(values.hotness.of_region(site.path, site.call.region) for site in made)


def is_made_in_steps(values: Values, own: Thing) -> bool:
    """Whether hot code makes objects of a class, which are no modules: what they hold is as old as the step."""
    constructor = values.index.record(own).methods.get("__init__")
    if constructor is None or values.types.is_module_class(own):
        return False
    sites = values.hotness.callers.get(FunctionKey(own.path, constructor), ())
    return any(values.hotness.of_region(site.path, site.call.region) for site in sites)


def _attribute(node: ast.expr) -> ast.Attribute | None:
    """The attribute of `self` that an expression is, or is an item of that no sample chooses."""
    while isinstance(node, ast.Subscript):
        index = node.slice
        steady = isinstance(index, ast.Constant) or (
            isinstance(index, ast.Name) and bool(_STEADY_INDEX.search(index.id))
        )
        if not steady:
            return None
        node = node.value
    return node if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) else None


def changed_in(values: Values, cls: Thing, name: str) -> Iterator[FunctionKey]:
    """The methods of one class that set an attribute, or change it in place."""
    body = values.body(cls.path) if cls.kind == "class" else None
    if body is None:
        return
    functions = values.index.outlines[cls.path].functions
    for index in values.index.record(cls).methods.values():
        own = functions[index].parameters[0].name if functions[index].parameters else "self"
        written = f"{own}.{name}"
        changed = (
            any(attribute == name for attribute, _, _ in body.self_assignments(index))
            or bool(body.stored_items(index, written))
            or any(use in CHANGES or in_place(use) for use, _ in body.uses(index, written))
            or any(target.startswith((written + "[", written + ".")) for target in body.augmented(index))
            or _unpacks_into(body, index, written)
        )
        if changed:
            yield FunctionKey(cls.path, index)


def _unpacks_into(body: Body, function: int, written: str) -> bool:
    """`self.obs[i], reward = env.step(action)`."""
    targets = (t for s in body.statements(function) if isinstance(s, ast.Assign) for t in s.targets)
    parts = (part for target in targets if isinstance(target, ast.Tuple) for part in target.elts)
    return any(isinstance(part, ast.Subscript) and chain(part.value) == written for part in parts)


def in_place(method: str) -> bool:
    """Whether a method of tensors works in place, by its name: `mul_`, and no `__len__`."""
    return method.endswith("_") and not method.endswith("__")


def builds(values: Values, key: FunctionKey) -> bool:
    """A constructor, or set-up code: what the project calls, and from no step."""
    if values.index.function(key).name == "__init__":
        return True
    called = bool(values.hotness.callers.get(key)) or is_cold(values.index, key)
    return called and key not in values.hotness.functions


def set_by_constructors(values: Values, own: Thing, attribute: ast.Attribute) -> list[ast.expr]:
    """What an attribute is set to, where constructors alone set it; nothing where anything else changes it."""
    return [value for _, value in set_in_constructors(values, own, attribute)]


def set_in_constructors(values: Values, own: Thing, attribute: ast.Attribute) -> list[tuple[FunctionKey, ast.expr]]:
    """The same with the constructor of each."""
    if set_from_outside(values, own, attribute):
        return []
    setters = [key for cls in values.index.ancestry(own) for key in changed_in(values, cls, attribute.attr)]
    if not all(builds(values, key) for key in setters):
        return []
    bodies = ((key, values.body(key.path)) for key in setters)
    given = ((key, *one) for key, body in bodies if body is not None for one in body.self_assignments(key.index))
    return [(key, value) for key, name, value, _ in given if name == attribute.attr]


def set_from_outside(values: Values, own: Thing, attribute: ast.Attribute) -> bool:
    """`module.table = ...` through another name than `self`, somewhere in the same file."""
    bindings = values.index.outlines[own.path].bindings
    return any(b.target.endswith(f".{attribute.attr}") and not b.target.startswith("self.") for b in bindings)


def given_as_list(values: Values, own: Thing, name: str) -> bool:
    """Whether a constructor puts away what its annotation says to be a list of numbers: `tokens: List[int]`.

    One that need not be given is not there for most.
    """
    for cls in values.index.ancestry(own):
        body = values.body(cls.path) if cls.kind == "class" else None
        number = values.index.record(cls).methods.get("__init__") if body is not None else None
        for attribute, value, _ in body.self_assignments(number) if body is not None and number is not None else ():
            if attribute == name and isinstance(value, ast.Name) and number is not None and body is not None:
                words = annotation_words(body, number, value.id) or frozenset()
                if default_of(body.functions.get(number), value.id) is not None:
                    return False
                return bool(words & SEQUENCES) and "int" in words
    return False
