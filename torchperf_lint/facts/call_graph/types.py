"""What a chain denotes at a place: imports, bindings, attributes from any method, what functions return.

Nominal only: which class or function. What kind of value and on which device is values.py's business.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from torchperf_lint.facts.call_graph.chain_parts import split
from torchperf_lint.facts.call_graph.given_back import given_back
from torchperf_lint.facts.call_graph.index import FunctionKey, Index, Thing
from torchperf_lint.facts.call_graph.library_chains import (
    GIVING_ITSELF,
    OTHER_CONSTRUCTORS,
    in_library,
    is_made_module,
    one_further,
)
from torchperf_lint.facts.call_graph.module_classes import ModuleClasses
from torchperf_lint.facts.call_graph.set_by_owners import SetByOwners
from torchperf_lint.facts.call_graph.targets import Targets
from torchperf_lint.facts.outlines.mentions import CHOICE, ITEM, PARTIAL, TABLE
from torchperf_lint.facts.outlines.records import Binding, Function
from torchperf_lint.fixpoint import Fixpoint

if TYPE_CHECKING:
    from torchperf_lint.facts.call_graph.given_functions import GivenFunctions


class Types:
    """Resolves chains within one project: each answer is kept, and what is bound to itself is what else it may be."""

    def __init__(self, index: Index, given: GivenFunctions | None = None) -> None:
        self.index = index
        self.given = given
        """What callers pass for parameters; None leaves that unknown."""
        self._kept: Fixpoint[Any, tuple[Thing, ...]] = Fixpoint(())
        self._bindings: dict[str, dict[tuple[int, str], list[Binding]]] = {}
        self._class_bindings: dict[str, dict[tuple[int, str], list[Binding]]] = {}
        self._nested: dict[str, dict[tuple[int, str], int]] = {}
        self._locals: dict[str, frozenset[str]] = {}
        self._chains_returned: dict[str, dict[int, list[str]]] = {}
        self.modules = ModuleClasses(self)
        self.targets = Targets(self).of
        self.by_owners = SetByOwners(self)

    def things(self, path: str, function: int, chain: str) -> tuple[Thing, ...]:
        """Everything the chain may denote in that function, best evidence first; empty when unknown."""
        key = (path, function, chain)
        found = self._kept.settled.get(key)
        if found is not None:
            return found
        # What no function of the file binds is the same in all of them.
        head, parts = split(chain)
        if function and head not in self._local_names(path):
            found = self.things(path, 0, chain)
            if (path, 0, chain) in self._kept.settled:
                self._kept.settled[key] = found
            return found
        found = self._by_its_head(path, function, head, parts) if "?" not in chain else ()
        if found is None:
            return self._kept.answer(key, key, self._find_things)
        self._kept.settled[key] = found
        return found

    def _by_its_head(self, path: str, function: int, head: str, parts: tuple[str, ...]) -> tuple[Thing, ...] | None:
        """What a chain denotes that is settled by what its parts are known for, as most are: nothing, a library's.

        None where it has to be worked out.
        """
        found = self.name(path, function, head)
        if ("name", path, function, head) not in self._kept.settled:
            return None
        for number, part in enumerate(parts):
            if not found:
                return ()
            if len(found) > 1:
                return None
            if found[0].kind == "external":
                return in_library(found[0].dotted, parts[number:])
            known = self._own_attribute(found[0], part) if part not in GIVING_ITSELF else None
            if known is None:
                return None
            found = known
        return found

    def _own_attribute(self, thing: Thing, part: str) -> tuple[Thing, ...] | None:
        """What an attribute of a class's is, where that has settled or is a method of its own; else None."""
        if thing.kind not in ("class", "instance") or not part.startswith(".") or part in OTHER_CONSTRUCTORS:
            return None
        key = ("attribute", thing.path, thing.index, part[1:])
        found = self._kept.settled.get(key)
        if found is None:
            method = self.index.record(thing).methods.get(part[1:])
            if method is not None and not _is_property(self.index.outlines[thing.path].functions[method]):
                found = self._kept.settled[key] = (Thing("function", thing.path, method),)
        return found

    def _find_things(self, asked: tuple[str, int, str]) -> tuple[Thing, ...]:
        path, function, chain = asked
        if "?" in chain or not chain:
            return ()
        head, parts = split(chain)
        found = self.name(path, function, head)
        moved = False
        for number, part in enumerate(parts):
            if not found:
                return ()
            if moved:
                moved = False
                continue
            if part in GIVING_ITSELF and parts[number + 1 : number + 2] == _CALL and self._is_model(found[0], part):
                moved = True
                continue
            several = given_back(self, found, parts[number : number + 2]) if part == "()" else ()
            if several:
                found, moved = _unique(several), True
                continue
            if len(found) == 1:
                found = self.step(found[0], part)
            else:
                found = _unique(t for thing in found for t in self.step(thing, part))
        return found

    def thing(self, path: str, function: int, chain: str) -> Thing | None:
        """The first thing the chain denotes, or None when unknown."""
        found = self._kept.settled.get((path, function, chain))  # what most ask for has been asked for before
        if found is None:
            found = self.things(path, function, chain)
        return found[0] if found else None

    def name(self, path: str, function: int, name: str) -> tuple[Thing, ...]:
        """What a plain name denotes in a function."""
        key = ("name", path, function, name)
        found = self._kept.settled.get(key)
        if found is not None:
            return found
        # Defined, imported or built in; or what a method calls its own object.
        if name == _own_object(self.index.outlines[path].functions[function]) or (
            not function and (0, name) not in self.bindings(path)
        ):
            found = self._kept.settled[key] = self._name(key)
            return found
        return self._kept.answer(key, key, self._name)

    def _name(self, asked: tuple[str, str, int, str]) -> tuple[Thing, ...]:
        _, path, function, name = asked
        outline = self.index.outlines[path]
        scope = function
        while scope >= 0:
            record = outline.functions[scope]
            found = self._local(path, scope, record, name)
            if found is not None:
                return found
            scope = record.parent
        member = self.index.member(path, name)
        if member is not None:
            return (member,)
        return (Thing("external", dotted=f"builtins.{name}"),) if name in _BUILTINS else ()

    def _local_names(self, path: str) -> frozenset[str]:
        """The names that a file's code binds, parameters and nested functions among them; imports are not."""
        if path not in self._locals:
            outline = self.index.outlines[path]
            bound = [binding.target for binding in outline.bindings]
            taken = [parameter.name for function in outline.functions for parameter in function.parameters]
            self._locals[path] = frozenset((*bound, *taken, *(function.name for function in outline.functions)))
        return self._locals[path]

    def _local(self, path: str, scope: int, record: Function, name: str) -> tuple[Thing, ...] | None:
        if name == _own_object(record):
            kind = "class" if "classmethod" in record.decorators else "instance"
            return (Thing(kind, path, record.class_index),)
        bound = self.bindings(path).get((scope, name))
        if bound:
            found = self._bound_to_any(path, scope, name, bound)
            if found or not all(b.value.startswith((ITEM, TABLE, CHOICE)) for b in bound):
                return found
        for parameter in record.parameters:
            if parameter.name == name:
                told = self.annotated(path, record.parent, parameter.annotation)
                vague = all(t.kind == "external" and t.dotted.startswith(_VAGUE) for t in told)
                return ((self.given and self.given.of(path, scope, name)) or told) if vague else told
        if scope > 0:
            index = self._nested_functions(path).get((scope, name))
            if index is not None:
                return (Thing("function", path, index),)
        return None

    def _bound_to_any(self, path: str, scope: int, name: str, bound: list[Binding]) -> tuple[Thing, ...]:
        """What the values stand for that a name is bound to; `x = x.to(device)` is nothing where nothing else is."""
        others = [b.value for b in bound if not (b.value.startswith(name) and split(b.value)[0] == name)]
        found = self.bound_to(path, scope, others[0]) if len(others) == 1 else ()  # most names
        if len(others) > 1:
            found = _unique(t for value in others for t in self.bound_to(path, scope, value))
        if not found or len(others) == len(bound):
            return _unique(found)
        return _unique(t for b in bound for t in self.bound_to(path, scope, b.value))

    def _nested_functions(self, path: str) -> dict[tuple[int, str], int]:
        """(function around it, name) -> the first function defined so."""
        if path not in self._nested:
            functions = list(enumerate(self.index.outlines[path].functions))
            own = {(f.parent, f.name): index for index, f in reversed(functions) if f.class_index < 0}
            self._nested[path] = own
        return self._nested[path]

    def annotated(self, path: str, function: int, annotation: str) -> tuple[Thing, ...]:
        """An instance of the class that an annotation names."""
        if not annotation:
            return ()
        return _unique(
            t
            for thing in self.things(path, max(function, 0), annotation)
            for t in self.step(thing, "()")
        )

    def bound_to(self, path: str, scope: int, value: str) -> tuple[Thing, ...]:
        """What a binding's value stands for: a chain, an annotation, a partial, a table, an item of one."""
        if value.startswith(":"):
            return self.annotated(path, scope, value[1:])
        if value[:1] not in _MARKS:
            return self.things(path, scope, value)
        if value.startswith(TABLE):
            entries = _unique(t for c in value[1:].split("|") for t in self.things(path, scope, c))
            known = any(t.kind in ("function", "class", "instance", "partial") for t in entries)
            return (Thing("table", path, scope, value[1:]),) if known else ()
        if value.startswith(ITEM):
            tables = self.things(path, scope, value[1:])
            listed = [t for t in tables if t.kind in ("function", "partial", "instance")]  # what callers pass in a list
            inside = (t for table in tables if table.kind == "table" for t in self.step(table, "[]"))
            return _unique(iter([*listed, *inside]))
        if value.startswith(CHOICE):
            options = _unique(t for c in value[1:].split("|") for t in self.things(path, scope, c))
            # Of functions of libraries aliases.py knows more: which arguments they get, which of them is meant.
            return () if any(t.kind == "external" for t in options) else options
        count, _, of = value[1:].partition(":")
        found = self.things(path, scope, of)
        if not found or found[0].kind == "external":
            return (Thing("external", dotted="functools.partial()"),)
        return tuple(t._replace(kind="partial", dotted=count) if t.kind == "function" else t for t in found)

    def bindings(self, path: str) -> dict[tuple[int, str], list[Binding]]:
        """(function, target) -> bindings of one file, in order."""
        if path not in self._bindings:
            table: dict[tuple[int, str], list[Binding]] = {}
            for binding in self.index.outlines[path].bindings:
                table.setdefault((binding.function, binding.target), []).append(binding)
            self._bindings[path] = table
        return self._bindings[path]

    # -- one part further --------------------------------------------------------------------------

    def step(self, thing: Thing, part: str) -> tuple[Thing, ...]:
        """What `.name`, `()` or `[i]` after a thing denotes."""
        if thing.kind == "external":
            return one_further(thing.dotted, part)
        if part in OTHER_CONSTRUCTORS and self.modules.is_loaded_by(thing, part):
            return (thing,)
        if thing.kind == "table":
            return self._in_table(thing, part)
        if part == "()":
            return self._called(thing)
        if part.startswith("["):
            return ()
        if thing.kind == "module":
            member = self.index.member(thing.path, part[1:])
            return (member,) if member else self.name(thing.path, 0, part[1:])
        if thing.kind in ("class", "instance"):
            return self.attribute(thing, part[1:])
        return ()

    def _in_table(self, table: Thing, part: str) -> tuple[Thing, ...]:
        """What `TABLE[name]` or `TABLE.get(name)` may be: any of the entries."""
        if part in (".get", ".pop"):
            return (table._replace(kind="getter"),)
        if not part.startswith("["):
            return ()
        chains = table.dotted.split("|")
        return _unique(t for c in chains for t in self.things(table.path, table.index, c))

    def _is_model(self, thing: Thing, part: str) -> bool:
        """Whether a thing is a module, whose `.cuda()` is or calls that of `nn.Module`: it gives the module itself."""
        if thing.kind == "instance":
            own = self.index.method(thing, part[1:])
            given = [c for f, c in self.index.outlines[own.path].returns if f == own.index] if own is not None else []
            passes = own is None or (bool(given) and all(chain in (f"super(){part}()", "self") for chain in given))
            return passes and self.is_module_class(thing)
        return thing.kind == "external" and is_made_module(thing.dotted)

    def _called(self, thing: Thing) -> tuple[Thing, ...]:
        if thing.kind == "class":
            return (Thing("instance", thing.path, thing.index),)
        if thing.kind == "instance":
            key = self.index.method(thing, "forward") or self.index.method(thing, "__call__")
            return self.returned(key) if key else ()
        if thing.kind in ("function", "partial"):
            return self.returned(FunctionKey(thing.path, thing.index))
        return self._in_table(thing, "[]") if thing.kind == "getter" else ()

    def returned(self, key: FunctionKey) -> tuple[Thing, ...]:
        """What a function returns, from the chains in its return statements."""
        return self._kept.answer(key, key, self._returned)

    def _returned(self, key: FunctionKey) -> tuple[Thing, ...]:
        chains = self._return_chains(key.path).get(key.index, ())
        return _unique(t for c in chains for t in self.things(key.path, key.index, c))

    def _return_chains(self, path: str) -> dict[int, list[str]]:
        """Function -> the chains in its return statements."""
        if path not in self._chains_returned:
            table: dict[int, list[str]] = {}
            for function, chain in self.index.outlines[path].returns:
                table.setdefault(function, []).append(chain)
            self._chains_returned[path] = table
        return self._chains_returned[path]

    def attribute(self, thing: Thing, name: str) -> tuple[Thing, ...]:
        """What `thing.name` denotes: a method, or what any method of the class or its bases assigns to it."""
        key = ("attribute", thing.path, thing.index, name)
        found = self._kept.settled.get(key)
        return found if found is not None else self._kept.answer(key, key, lambda _: self._attribute(thing, name))

    def _attribute(self, thing: Thing, name: str) -> tuple[Thing, ...]:
        found: list[Thing] = []
        for cls in self.index.ancestry(thing):
            if cls.kind == "external":
                found.append(Thing("external", dotted=f"{cls.dotted}().{name}"))
                continue
            method = self.index.record(cls).methods.get(name)
            if method is not None:
                record = self.index.outlines[cls.path].functions[method]
                if _is_property(record):
                    return self.returned(FunctionKey(cls.path, method))
                return (Thing("function", cls.path, method),)
            found.extend(self._field(cls, name))
            for binding in self.self_bindings(cls, name):
                found.extend(self.bound_to(cls.path, binding.function, binding.value))
            if found:
                return _unique(iter(found))
        return _unique(iter(found)) or self.by_owners.of(thing, name)

    def _field(self, cls: Thing, name: str) -> list[Thing]:
        """What the body of a class says of an attribute, `policy: Actor`, where that is a class of the project."""
        record = self.index.record(cls)
        told = self.bindings(cls.path).get((record.function, f"{record.name}.{name}"), ())
        things = (t for b in told for t in self.bound_to(cls.path, b.function, b.value))
        return [thing for thing in things if thing.kind == "instance"]

    def self_bindings(self, cls: Thing, name: str) -> list[Binding]:
        """Every `self.name = ...` in the methods of one class."""
        table = self._class_bindings.get(cls.path)
        if table is None:
            table = self._class_bindings[cls.path] = {}
            outline = self.index.outlines[cls.path]
            for binding in outline.bindings:
                method = outline.functions[binding.function]
                if method.class_index < 0 or not method.parameters or "." not in binding.target:
                    continue
                head, _, rest = binding.target.partition(".")
                if head == method.parameters[0].name:
                    table.setdefault((method.class_index, rest), []).append(binding)
        return table.get((cls.index, name), [])

    # -- questions rules ask -----------------------------------------------------------------------

    def is_module_class(self, thing: Thing) -> bool:
        """Whether a class or instance of the project derives from `torch.nn.Module`."""
        return self.modules.holds(thing)


_CALL = ("()",)
_MARKS = frozenset({PARTIAL, TABLE, ITEM, CHOICE})
_VAGUE = ("builtins.", "typing.", "collections.")
"""Annotations that leave open which function is meant: `Callable`, a list of them."""
_BUILTINS = frozenset(
    "float int bool str len print list dict tuple set range enumerate zip map sum max min abs round open".split()
)


def _own_object(function: Function) -> str | None:
    """The name by which a method calls the object, or the class, that it is of."""
    if function.class_index < 0 or not function.parameters or "staticmethod" in function.decorators:
        return None
    return function.parameters[0].name


def _is_property(function: Function) -> bool:
    decorators = function.decorators
    return "property" in decorators or any(name.endswith("cached_property") for name in decorators)


def _unique(things: Iterable[Thing]) -> tuple[Thing, ...]:
    found = tuple(things)
    return found if len(found) < 2 else tuple(dict.fromkeys(found))[:6]
