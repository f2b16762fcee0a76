"""What an outline is made of: plain data, and its way through JSON for the cache.

Lines and columns are 1-based code points, ends exclusive.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple, cast

Position = tuple[int, int]
new_record = tuple.__new__
"""Makes a named tuple of all its fields in a third of the time that its class takes; hundreds of thousands are made."""
END_OF_FILE: Position = (10**9, 1)
"""Behind the last line: what a file has bound when its functions run."""


class Region(NamedTuple):
    """A stretch of code that runs as often as something decides."""

    kind: str
    """function, class, loop, comprehension, named, optional, way, grad-off, evaluation; for code that runs rarely
    cadence, debug, memory, elsewhere, lambda, once, except, profile, break, return, raise."""
    parent: int
    start: Position
    end: Position
    function: int
    detail: str
    """For a loop `target in iterable` as written; for a guard its test; else empty."""
    turns: int | None = None
    """How often a loop with a literal bound turns, else None."""
    iterable: str = ""
    """For a loop: the chain of what it iterates, wrappers such as `enumerate` and `tqdm` taken off."""
    head: int = 0
    """For a loop: the line of its `for` or `while`."""


class Call(NamedTuple):
    """A call; `callee` is a chain as in chains.py."""

    callee: str
    line: int
    column: int
    region: int
    function: int


class Mention(NamedTuple):
    """A function that is named, not called; see mentions.py.

    kind: hook, event, given (an argument), default (of a parameter), listener (given with the name of an event), name
    (a method's or an event's, as text), property, method (of the own class); device, for a name that is asked for its
    device; documented, for a parameter that the docstring says is a tensor; operand, for one
    that an operation of torch takes first; gives, for a function that hands back a value; and yield, for where a
    generator hands something over.
    """

    kind: str
    chain: str
    """What names the function; for `name` the text."""
    of: str
    """What it is handed to: a callee, an event, a parameter."""
    line: int
    region: int
    function: int


class Binding(NamedTuple):
    """`target = value` where the value is a chain; calls end in `()`.

    A value that begins with `:` is an annotation; see mentions.py for other marks. What a function gives at one place
    of several has the target `()[0]`, see returned_parts.py.
    """

    function: int
    target: str
    value: str
    line: int


class Parameter(NamedTuple):
    """A parameter; `annotation` is a chain, empty when absent or not a plain name."""

    name: str
    annotation: str
    default: bool
    by_name: bool = False
    """Whether calls can give it by its name only: it stands after `*` or `*args`."""


@dataclass(slots=True)
class Function:
    """A function, or the module itself (index 0)."""

    name: str
    qualname: str
    line: int
    """First line, decorators included."""
    end_line: int
    parent: int
    class_index: int
    """The class whose method this is, or -1."""
    region: int
    parameters: tuple[Parameter, ...] = ()
    decorators: tuple[str, ...] = ()
    header_line: int = 0
    """The line of `def`."""
    gives: str = ""
    """The annotation of what it returns, as a parameter's."""

    @property
    def bound(self) -> int:
        """How many parameters a call does not pass, as the object or class does: `self`, `cls`."""
        return int(self.class_index >= 0 and "staticmethod" not in self.decorators)


@dataclass(slots=True)
class Class:
    """A class with its bases as chains and its methods by name."""

    name: str
    qualname: str
    line: int
    function: int
    bases: tuple[str, ...] = ()
    methods: dict[str, int] = field(default_factory=dict)


@dataclass(slots=True)
class Outline:
    """What one file contributes to the project."""

    path: str
    """POSIX, relative to the project's root."""
    imports: dict[str, str] = field(default_factory=dict)
    """Bound name -> dotted name; relative ones begin with their dots."""
    stars: list[str] = field(default_factory=list)
    functions: list[Function] = field(default_factory=list)
    classes: list[Class] = field(default_factory=list)
    regions: list[Region] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    bindings: list[Binding] = field(default_factory=list)
    returns: list[tuple[int, str]] = field(default_factory=list)
    """(function, chain) of each `return` whose value is a chain."""
    tops: dict[str, tuple[str, int]] = field(default_factory=dict)
    """Module-level names: ("function" | "class", index)."""
    mentions: list[Mention] = field(default_factory=list)
    """Functions that are named without being called there."""

    def imports_from(self, *packages: str) -> bool:
        """Whether the file imports anything of one of some packages, by their first names: `torch`."""
        return any(name.partition(".")[0] in packages for name in self.imports.values())


def to_json(found: Outline) -> list[object]:
    """An outline as lists and strings, for the cache."""
    plain = ("path", "imports", "stars", "regions", "calls", "bindings", "returns", "tops")
    functions = [[getattr(record, name) for name in Function.__slots__] for record in found.functions]
    classes = [[getattr(record, name) for name in Class.__slots__] for record in found.classes]
    return [*(getattr(found, name) for name in plain), functions, classes, found.mentions]


def from_json(held: object) -> Outline:
    """The outline that `to_json` wrote. Raises TypeError, ValueError, KeyError or IndexError for anything else."""
    path, imports, stars, regions, calls, bindings, returns, tops, functions, classes, mentions = cast(
        "list[Any]", held
    )
    if not (isinstance(imports, dict) and isinstance(stars, list) and isinstance(tops, dict) and isinstance(path, str)):
        raise TypeError("not an outline")
    found = Outline(path, imports, stars)
    found.regions = [Region(r[0], r[1], tuple(r[2]), tuple(r[3]), *r[4:]) for r in regions]
    found.calls = [Call(*c) for c in calls]
    found.bindings = [Binding(*b) for b in bindings]
    found.returns = [(function, chain) for function, chain in returns]
    found.tops = {name: (kind, index) for name, (kind, index) in tops.items()}
    found.mentions = [Mention(*m) for m in mentions]
    for record in functions:
        record[7] = tuple(Parameter(*parameter) for parameter in record[7])
        record[8] = tuple(record[8])
        found.functions.append(Function(*record))
    for name, qualname, line, function, bases, methods in classes:
        found.classes.append(Class(name, qualname, line, function, tuple(bases), methods))
    return found
