"""What runs without a call that names it: hooks, handlers of events, methods found by a name as text, properties,
the function that a decorator puts around another."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from torchperf_lint.facts.call_graph.given_functions import Parameter
from torchperf_lint.facts.call_graph.index import CallSite, FunctionKey, Index, Thing
from torchperf_lint.facts.call_graph.types import Types
from torchperf_lint.facts.outlines.records import Call, Mention, Outline
from torchperf_lint.facts.roles.framework_hooks import EVENT, HOOK_IN_PASS, HOOK_OF_OPTIMIZER
from torchperf_lint.facts.roles.looked_up import looked_up
from torchperf_lint.facts.roles.patched_forwards import patched_forwards
from torchperf_lint.facts.roles.role import Role
from torchperf_lint.facts.syntax.chains import last_part
from torchperf_lint.patterns import pattern

_LISTENER = pattern(
    r"Hook|Callback|Plugin|Handler|Listener|Extension|Observer|Logger|Monitor|Subscriber|Runner|Trainer"
)
_APPLIES = frozenset("map filter starmap multi_apply checkpoint tree_map vmap apply_along_axis".split())
"""Functions of Python, torch and mmdet that call the function which they are given first."""
_FEW = 24
"""Classes that may have a method of a name handed on as text; beyond, the name says little."""


class Dispatch:
    """Edges that no call shows, from the mentions in the outlines."""

    def __init__(self, index: Index, types: Types) -> None:
        self.index = index
        self.types = types
        self._read: dict[tuple[str, int, str], list[FunctionKey]] = {}

    @cached_property
    def hooked(self) -> frozenset[FunctionKey]:
        """The functions that are hooks of modules and tensors: they are given tensors."""
        return frozenset(key for key, role in self._given_as_hooks() if role.kind == HOOK_IN_PASS.kind)

    @cached_property
    def looked_up(self) -> tuple[tuple[FunctionKey, Role], ...]:
        """The losses and metrics that a configuration names: they are given an output and a target."""
        return tuple(looked_up(self.index, self.types))

    def registered(self) -> Iterator[tuple[FunctionKey, Role]]:
        """Functions that are given to torch as hooks, to an engine as handlers of what happens every batch, that
        are metrics which a configuration names, or that take the place of a module's `forward`."""
        yield from self.looked_up
        yield from patched_forwards(self.index, self.types)
        yield from self._given_as_hooks()

    def _given_as_hooks(self) -> Iterator[tuple[FunctionKey, Role]]:
        for path, outline in self.index.outlines.items():
            for mention in outline.mentions:
                role = {"hook": HOOK_IN_PASS, "event": EVENT}.get(mention.kind)
                if role is HOOK_IN_PASS and last_part(mention.of).startswith("register_step_"):
                    role = HOOK_OF_OPTIMIZER
                if role is not None and _is_to_look_into(outline, mention.region):
                    role = None
                for thing in self._named(path, mention) if role is not None else ():
                    told = role.because.format(mention.of, mention.line) if role is not None else ""
                    if role is not None and thing.kind in ("function", "partial"):
                        yield FunctionKey(thing.path, thing.index), role._replace(because=told)

    def _named(self, path: str, mention: Mention) -> tuple[Thing, ...]:
        return self.types.bound_to(path, mention.function, mention.chain)

    @cached_property
    def edges(self) -> dict[FunctionKey, list[tuple[CallSite, FunctionKey]]]:
        """Function -> what it runs without naming it in a call, with the place."""
        table: dict[FunctionKey, list[tuple[CallSite, FunctionKey]]] = {}
        found = [*self._found(), *self._given(), *self._applied(), *self._advanced(), *self._gone_through()]
        for path, mention, target in found:
            call = Call(mention.chain, mention.line, 1, mention.region, mention.function)
            table.setdefault(FunctionKey(path, mention.function), []).append((CallSite(path, call), target))
        return table

    def _found(self) -> Iterator[tuple[str, Mention, FunctionKey]]:
        """Properties that are read, and what is found by a name as text."""
        for path, outline in self.index.outlines.items():
            for mention in outline.mentions:
                if mention.kind in ("property", "name"):
                    yield from ((path, mention, target) for target in self._run_by(path, mention))

    def _run_by(self, path: str, mention: Mention) -> list[FunctionKey]:
        if mention.kind == "property":
            own = self.index.class_of(path, mention.function) if mention.chain[5:] in self._properties else None
            return self._read_of(own, mention.chain[5:]) if own is not None else []
        known = mention.chain in self._listeners or mention.chain in self._subscribed
        if mention.kind != "name" or not known:
            return []
        callers = self.types.targets(path, mention.function, mention.of)
        methods = self._listeners.get(mention.chain, []) if any(key in self._by_text for key in callers) else []
        buses = {self.index.class_of(*key) for key in callers}
        return methods + [key for bus, key in self._subscribed.get(mention.chain, ()) if bus in buses]

    @cached_property
    def named(self) -> dict[FunctionKey, list[tuple[CallSite, FunctionKey]]]:
        """Function -> the methods of its own that it names without calling them: `losses = [self._ce, self._dice]`."""
        table: dict[FunctionKey, list[tuple[CallSite, FunctionKey]]] = {}
        for path, outline in self.index.outlines.items():
            for mention in outline.mentions:
                if mention.kind != "method":
                    continue
                call = Call(mention.chain, mention.line, 1, mention.region, mention.function)
                for target in self.types.targets(path, mention.function, mention.chain):
                    table.setdefault(FunctionKey(path, mention.function), []).append((CallSite(path, call), target))
        return table

    @cached_property
    def _subscribed(self) -> dict[str, list[tuple[Thing | None, FunctionKey]]]:
        """Event -> (class, function) of `bus.subscribe("step", on_step)`: an object of that class is told of it."""
        found: dict[str, list[tuple[Thing | None, FunctionKey]]] = {}
        for path, outline in self.index.outlines.items():
            for mention in outline.mentions:
                if mention.kind != "listener":
                    continue
                event, _, callee = mention.of.partition(":")
                buses = {self.index.class_of(*key) for key in self.types.targets(path, mention.function, callee)} - {
                    None
                }
                for thing in self._named(path, mention) if buses else ():
                    if thing.kind in ("function", "partial"):
                        key = FunctionKey(thing.path, thing.index)
                        found.setdefault(event, []).extend((bus, key) for bus in sorted(buses, key=str))
        return found

    def by_text(self, site: CallSite, target: FunctionKey) -> bool:
        """Whether an edge is that of a method found by its name as text."""
        function = self.index.function(target)
        return function.class_index >= 0 and site.call.callee == function.name

    def _given(self) -> Iterator[tuple[str, Mention, FunctionKey]]:
        """Functions that are handed to one which calls them: `apply_to_type(output, check)` runs `check`."""
        for path, mention, things, takers in self.types.given.passed if self.types.given is not None else ():
            if mention.kind == "given" and not self._called_parameters.isdisjoint(takers):
                for thing in things:
                    if thing.kind != "instance":
                        yield path, mention, FunctionKey(thing.path, thing.index)

    def _applied(self) -> Iterator[tuple[str, Mention, FunctionKey]]:
        """Functions that are handed to what applies them at once: `map(f, xs)`, `multi_apply(self.f, xs, ys)`."""
        for path, outline in self.index.outlines.items():
            for mention in outline.mentions:
                place, _, callee = mention.of.partition(":")
                if mention.kind == "given" and last_part(callee) in _APPLIES and place == "0":
                    for thing in self._named(path, mention):
                        if thing.kind in ("function", "partial"):
                            yield path, mention, FunctionKey(thing.path, thing.index)

    def _advanced(self) -> Iterator[tuple[str, Mention, FunctionKey]]:
        """The `__next__` of objects that `next` is given: `batches = Prefetcher(loader)`, then `next(batches)`."""
        for path, outline in self.index.outlines.items():
            for mention in outline.mentions:
                if mention.kind == "given" and mention.of == "0:next":
                    of = (thing for thing in self._named(path, mention) if thing.kind == "instance")
                    keys = (self.index.method(thing, "__next__") for thing in of)
                    yield from ((path, mention, key) for key in keys if key is not None)

    def _gone_through(self) -> Iterator[tuple[str, Mention, FunctionKey]]:
        """The `__next__` of objects that loops go through, and that are iterators themselves."""
        outlines = self.index.outlines
        iterators = any("__next__" in cls.methods for outline in outlines.values() for cls in outline.classes)
        for path, outline in outlines.items() if iterators else ():
            for index, region in enumerate(outline.regions):
                if region.kind != "loop" or not region.iterable:
                    continue
                for thing in self.types.things(path, region.function, region.iterable):
                    key = self._advances(thing) if thing.kind == "instance" else None
                    mention = Mention("gone through", region.iterable, "", region.head, index, region.function)
                    yield from [(path, mention, key)] if key is not None else []

    def _advances(self, thing: Thing) -> FunctionKey | None:
        """The `__next__` of an object whose `__iter__` gives the object itself."""
        own = self.index.method(thing, "__iter__")
        gives = self.index.outlines[own.path].returns if own is not None else ()
        itself = [chain for function, chain in gives if own is not None and function == own.index] == ["self"]
        return self.index.method(thing, "__next__") if itself else None

    def is_given(self, site: CallSite) -> bool:
        """Whether a call runs one of several functions that are given for a parameter: each runs where it is given."""
        if (FunctionKey(site.path, site.call.function), site.call.callee) not in self._called_parameters:
            return False
        given = self.types.given
        return given is None or len(given.of(site.path, site.call.function, site.call.callee)) != 1

    @cached_property
    def _called_parameters(self) -> set[Parameter]:
        """The parameters that their functions call."""
        found = set()
        for path, outline in self.index.outlines.items():
            names = [{p.name for p in function.parameters} for function in outline.functions]
            found |= {
                (FunctionKey(path, call.function), call.callee)
                for call in outline.calls
                if call.callee in names[call.function]
            }
        return found

    @cached_property
    def _properties(self) -> frozenset[str]:
        """The names of the project's properties."""
        functions = (function for outline in self.index.outlines.values() for function in outline.functions)
        return frozenset(function.name for function in functions if "property" in function.decorators)

    def _read_of(self, cls: Thing, name: str) -> list[FunctionKey]:
        """What reading a property of `self` runs: that of the classes objects are of, which may be another base's."""
        asked = (cls.path, cls.index, name)
        if asked not in self._read:
            self._read[asked] = self._find_read(cls, name)
        return self._read[asked]

    def _find_read(self, cls: Thing, name: str) -> list[FunctionKey]:
        queue, found = [cls], []
        for current in queue:
            below = self.index.subclasses.get((current.path, current.index), ()) if len(queue) < _FEW else ()
            queue += [sub for sub in below if sub not in queue]
            if not below:
                found.append(self.index.method(current, name))
        return [key for key in dict.fromkeys(found) if key is not None and self._is_property(key)]

    def _is_property(self, key: FunctionKey) -> bool:
        return any(d == "property" for d in self.index.function(key).decorators)

    @cached_property
    def _by_text(self) -> set[FunctionKey]:
        """Functions that look a method up by a name they are handed: `getattr(hook, name)(self)`."""
        sites = self.index.calls_named.get("getattr", ())
        return {FunctionKey(path, call.function) for path, call in sites if call.callee == "getattr" and call.function}

    @cached_property
    def _listeners(self) -> dict[str, list[FunctionKey]]:
        """Text handed to some function -> methods of that name in classes of hooks and callbacks."""
        texts = {m.chain for outline in self.index.outlines.values() for m in outline.mentions if m.kind == "name"}
        found: dict[str, list[FunctionKey]] = {}
        for path, outline in self.index.outlines.items() if texts else ():
            for index, cls in enumerate(outline.classes):
                named = texts.intersection(cls.methods)
                if named and self._listens(Thing("class", path, index)):
                    for name in named:
                        found.setdefault(name, []).append(FunctionKey(path, cls.methods[name]))
        return {name: keys for name, keys in found.items() if len(keys) <= _FEW}

    def _listens(self, cls: Thing) -> bool:
        names = (self.index.record(c).name if c.kind == "class" else c.dotted for c in self.index.ancestry(cls))
        return any(_LISTENER.search(name) for name in names)

    def around(self, key: FunctionKey) -> Iterator[FunctionKey]:
        """The functions that decorators of the project put in the place of a function."""
        record = self.index.function(key)
        for decorator in record.decorators:
            for thing in self.types.things(key.path, record.parent, decorator + "()"):
                if thing.kind == "function" and thing.index != key.index:
                    yield FunctionKey(thing.path, thing.index)


def _is_to_look_into(outline: Outline, number: int) -> bool:
    """Whether a switch for debugging is around a region: `if args.nan_detect: m.register_forward_hook(f)`."""
    while number >= 0 and outline.regions[number].kind != "function":
        if outline.regions[number].kind in ("debug", "profile"):
            return True
        number = outline.regions[number].parent
    return False
