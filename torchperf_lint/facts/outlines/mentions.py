"""Functions that are named without being called there: handed to another, kept in a table, read as a property.

What runs them is decided later, from all outlines; here is only what one file's syntax shows.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from functools import cached_property

from torchperf_lint.facts.outlines.signatures import Defaults, iterated
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.patterns import pattern

HOOKS = frozenset(
    "register_forward_hook register_forward_pre_hook register_full_backward_hook register_full_backward_pre_hook "
    "register_backward_hook register_hook register_post_accumulate_grad_hook register_module_forward_hook "
    "register_module_forward_pre_hook register_step_post_hook register_step_pre_hook".split()
)
"""What modules, tensors and optimizers of torch are given a function by, to call it in every pass."""
_LIBRARIES = frozenset("torch numpy math os sys typing jax tensorflow pandas".split())
"""Whose names, handed on, are no functions of the project."""
_EVENTS = frozenset({"on", "add_event_handler"})
_FIRES = pattern(r"fire|emit|trigger|notify|dispatch|publish|invoke|(?:^|_)(?:call|run|execute|handle)(?:_|$)")
"""In the names of methods that call whatever listens to the event they are handed."""
_EVERY_BATCH = frozenset(
    "ITERATION_STARTED ITERATION_COMPLETED GET_BATCH_STARTED GET_BATCH_COMPLETED BACKWARD_COMPLETED "
    "OPTIM_STEP_COMPLETED LOSS_COMPLETED MODEL_COMPLETED".split()
)
"""Events of ignite's engines that happen for every batch."""
_DEFINED = pattern(r"\n[ \t]*(?:async +def|def|class) +(\w+)")
"""With the newline before it, as are all that begin a line: that is sought faster than the start of every line."""
_PROPERTY = pattern(r"property\b[^\n]*\n(?:[ \t]*@[^\n]*\n)*[ \t]*def +(\w+)")
_MADE_HERE = pattern(r"\.(\w+)(?: =|:)")
_MADE_BESIDE = pattern(r"self\.(\w+)(?=, self\.)")
"""How a file writes what it makes an attribute of objects."""
_IN_A_CLASS = pattern(r"\n[ \t]+(\w+)(?: =(?! self\.\1\b)|:)")
"""How it writes one of a class, `name = value` or `name: type`; not `name = self.name`, which reads it."""
_OF_MODULES = frozenset("training device dtype config hparams trainer logger".split())
"""Attributes of modules that give what is there already."""
_MADE_IN_TURN = (ast.ListComp, ast.GeneratorExp)
_SEQUENCES = (ast.List, ast.Tuple)
_HOLDING = frozenset({ast.Name, ast.Attribute, ast.Call, ast.List, ast.Tuple})
_BINDING = frozenset({ast.IfExp, ast.Subscript, ast.Call, ast.Dict, ast.List, ast.Tuple})
MAKING = frozenset({ast.Call, ast.ListComp, ast.DictComp})
"""What may make a list of objects."""
_MADE = pattern(r"(?:\w+\.)?_?[A-Z]\w*\(\)(?:\.(?:to|cuda|eval|train|half|float)\(\))*$")
"""A call of a class, by the case of its name, and of what gives a module back."""
_MADE_OF = pattern(r"= *(?:\w+\.)?(_?[A-Z]\w*)\(")
"""`= Average(`, sought by the one sign that few lines have."""
_IMPORTED_IN_BLOCK = pattern(r"\n[ \t]+from +(\.*\w*)[\w.]* +import +([^\n#]+)")
_MOST = 12
"""Functions in one table; a longer list says little about any."""

PARTIAL, TABLE, ITEM, CHOICE = "@", "{", "*", "|"
"""How a binding's value begins that is a partial, a table of functions, an item of a table, one of several."""

Named = tuple[str, str, str]
"""(kind, the chain that names the function, what it is handed to or stands for)."""


class Names:
    """Which names of a file may be those of functions, classes and properties of the project.

    Read from the text, before anything is parsed; one too many costs time, nothing else.
    """

    def __init__(self, text: str, imports: Mapping[str, str]) -> None:
        self.properties = frozenset(_PROPERTY.findall(text)) if "property" in text else frozenset()
        lines = self._lines = f"\n{text}"
        self.defined = frozenset(_DEFINED.findall(lines)) - self.properties
        self.imports = imports
        self.text = text
        self._asked: dict[str, str] = {}
        self.bound: set[str] = set()
        """Names bound to what a class of the project makes, as far as the file has been read."""
        self._made_in_blocks = _made_in_blocks(lines)
        self._imported_in_blocks = frozenset(
            name
            for head, names in _IMPORTED_IN_BLOCK.findall(lines)
            if head not in _LIBRARIES
            for name in re.findall(r"\w+", names)
        )

    def of_self(self, name: str) -> str:
        """What `self.name` may name: a property of the file, or of a class elsewhere that a class derives from; a
        method of the file; or nothing of these, ""."""
        kind = self._asked.get(name)
        if kind is None:
            kind = self._asked[name] = self._kind(name)
        return kind

    def _kind(self, name: str) -> str:
        if name in self.properties:
            return "property"
        if name in self.defined:
            return "method"
        here = name in _OF_MODULES or name in self._made_here or name in self._of_classes
        return "" if here else "property"

    @cached_property
    def _made_here(self) -> frozenset[str]:
        """What the file makes an attribute of objects."""
        return frozenset(_MADE_HERE.findall(self.text) + _MADE_BESIDE.findall(self.text))

    @cached_property
    def _of_classes(self) -> frozenset[str]:
        """What the file makes an attribute of classes."""
        return frozenset(_IN_A_CLASS.findall(self._lines))

    def binds(self, name: str, value: str) -> None:
        """Take note of `name = Class()`, also of `Class().to()`."""
        if value.endswith("()") and _MADE.match(value) and self.known(value.partition(".")[0].partition("(")[0]):
            self.bound.add(name)

    def known(self, name: str) -> bool:
        """Whether a plain name is defined in the file, or imported from anywhere but a library of numbers."""
        if name in self.defined:
            return True
        of = self.imports.get(name)
        return of is not None and of.partition(".")[0] not in _LIBRARIES

    def _is_made_in_a_block(self, name: str) -> bool:
        """Whether a name is bound to an object in a block, `if args.ema: ema = Average(model)`, of a known class."""
        return any(self.known(cls) or cls in self._imported_in_blocks for cls in self._made_in_blocks[name])

    def chain(self, node: ast.expr) -> str:
        """The chain of `function`, `self.method`, `module.function` or `Class()`; empty for all else."""
        kind = type(node)
        if kind is ast.Name:
            name: str = node.id  # type: ignore[attr-defined]
            if name in self.bound or self.known(name):
                return name
            return name if name in self._made_in_blocks and self._is_made_in_a_block(name) else ""
        if kind is ast.Call:
            made = self.chain(node.func)  # type: ignore[attr-defined]
            return f"{made}()" if made else ""
        if kind is not ast.Attribute or type(node.value) is not ast.Name:  # type: ignore[attr-defined]
            return ""
        head, name = node.value.id, node.attr  # type: ignore[attr-defined]
        return f"{head}.{name}" if (name in self.defined if head == "self" else self.known(head)) else ""

    def made(self, node: ast.expr) -> str:
        """The chain of a call of a class, `Average(model)`; empty for all else."""
        named = self.chain(node)
        return named if named and _MADE.match(chain(node)) else ""


def _made_in_blocks(lines: str) -> dict[str, set[str]]:
    """The names that stand alone on an indented line before `= Average(...)`, with the classes of what they stand for.

    An outline reads what stands in blocks after what follows them.
    """
    found: dict[str, set[str]] = {}
    for made in _MADE_OF.finditer(lines):
        before = lines[lines.rfind("\n", 0, made.start()) + 1 : made.start()]
        name = before.lstrip(" \t").rstrip(" ")
        if before[:1] in (" ", "\t") and name.isidentifier():
            found.setdefault(name, set()).add(made.group(1))
    return found


def handed_over(node: ast.Call, callee: str, names: Names) -> list[Named]:
    """The functions that a call hands to torch, to ignite, or to whatever it calls; and names of methods, as text."""
    args = node.args
    found: list[Named] = []
    if not args and not node.keywords:
        return found
    name = callee.rpartition(".")[2]
    if name in HOOKS:
        found += [("hook", chain(argument), name) for argument in args[:1]]
    elif name in _EVENTS:
        if len(args) > 1 and _every_batch(args[0]):
            found.append(("event", chain(args[1]), last_part(chain(args[0]))))
    elif args and type(args[0]) is ast.Constant:
        found += _of_events(args, callee, name, names)
    if name == "partial" and args:
        callee, args = chain(args[0]), args[1:]
    if "?" in callee:
        return found
    for i, argument in enumerate(args):
        for c in _functions_in(argument, names) if type(argument) in _HOLDING else ():
            found.append(("given", c, f"{i}:{callee}"))
    for keyword in node.keywords:
        for c in _functions_in(keyword.value, names) if keyword.arg and type(keyword.value) in _HOLDING else ():
            found.append(("given", c, f"{keyword.arg}:{callee}"))
    return found


def _of_events(args: list[ast.expr], callee: str, name: str, names: Names) -> list[Named]:
    """`bus.subscribe("step", on_step)`, `bus.fire("step")`, `self.call_hook("after_iter")`."""
    text = args[0].value if isinstance(args[0], ast.Constant) else None
    if not isinstance(text, str) or not text.isidentifier():
        return []
    found: list[Named] = []
    if "_" in text.strip("_") or _FIRES.search(name):
        found.append(("name", text, callee))
    found += [
        ("listener", c, f"{text}:{callee}")
        for other in args[1:2]
        if type(other) in _HOLDING
        for c in _functions_in(other, names)
    ]
    return found


def listens(decorators: list[ast.expr]) -> str | None:
    """The event of every batch that a decorator has its function called at: `@on(Events.ITERATION_STARTED)`."""
    for node in decorators:
        if isinstance(node, ast.Call) and node.args and last_part(chain(node.func)) in _EVENTS:
            return last_part(chain(node.args[0])) if _every_batch(node.args[0]) else None
    return None


def _every_batch(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and node.attr in _EVERY_BATCH


def defaults_of(defaults: Defaults, names: Names) -> Iterator[tuple[str, str]]:
    """(parameter, chain) of each function that a parameter's default names."""
    for parameter, default in defaults:
        if type(default) in _HOLDING:
            yield from ((parameter, found) for found in _functions_in(default, names))


def _functions_in(node: ast.expr, names: Names) -> list[str]:
    """The chains that may name functions: the node itself, what a partial is of, what a short list holds; in a list
    also objects that are made there, `[Accuracy(), Logger(path)]`."""
    kind = type(node)
    if kind is ast.Name or kind is ast.Attribute:
        named = names.chain(node)
        return [named] if named else []
    if kind is ast.Call:
        named = bound_functions(node) or names.made(node)
        return [named] if named else []
    chains = [names.chain(element) for element in node.elts[:_MOST]]  # type: ignore[attr-defined]
    return [found for found in chains if found]


def bound_functions(node: ast.expr) -> str | None:
    """What a name is bound to, as a binding's value, by a partial, a table of functions and objects, or a choice."""
    if type(node) not in _BINDING:
        return None
    if isinstance(node, ast.Call):  # most of them
        function = node.func
        name = function.attr if type(function) is ast.Attribute else function.id if type(function) is ast.Name else ""
        if name != "partial" or not node.args:
            return None
        of = chain(node.args[0])
        spread = any(isinstance(argument, ast.Starred) for argument in node.args)
        return None if "?" in of or spread else f"{PARTIAL}{len(node.args) - 1}:{of}"
    if isinstance(node, ast.IfExp):
        return _any_of([node.body, node.orelse], CHOICE)
    if isinstance(node, ast.Subscript):
        return _any_of(node.value.values, CHOICE) if isinstance(node.value, ast.Dict) else None
    if isinstance(node, ast.Dict):
        return _any_of(node.values, TABLE)
    return _any_of(node.elts, TABLE) if isinstance(node, _SEQUENCES) else None


def _any_of(items: list[ast.expr], mark: str) -> str | None:
    """The marked chains of some expressions; None where one has no chain, or is an item of something."""
    chains = [chain(item) for item in items[: _MOST + 1]]
    if not chains or len(chains) > _MOST or any("?" in c or "[" in c for c in chains):
        return None
    return mark + "|".join(chains)


def parts_made(node: ast.expr) -> str | None:
    """The table, as a binding's value, of the objects that a list is made of: `[Block(n) for _ in range(depth)]`,
    `nn.ModuleList([Block(1), Block(2)])`, `nn.ModuleDict({"cls": Head()})`."""
    if isinstance(node, ast.Call):
        function = node.func
        name = function.attr if type(function) is ast.Attribute else function.id if type(function) is ast.Name else ""
        if name not in _HOLDERS or len(node.args) != 1:
            return None
        node = node.args[0]
        if isinstance(node, ast.Name):
            return node.id
        if isinstance(node, ast.Dict | ast.List | ast.Tuple):
            return _any_of(node.values if isinstance(node, ast.Dict) else node.elts, TABLE)
    if isinstance(node, _MADE_IN_TURN):
        return _any_of([node.elt], TABLE) if isinstance(node.elt, ast.Call) else None
    if isinstance(node, ast.DictComp):
        return _any_of([node.value], TABLE) if isinstance(node.value, ast.Call) else None
    return None


def appended(node: ast.Call, callee: str, names: Names) -> tuple[ast.expr, str] | None:
    """(list, binding's value) of `layers.append(Block(n))`, `self.hooks.append(hook)`."""
    function = node.func
    if (
        not callee.endswith(".append")
        or "?" in callee
        or len(node.args) != 1
        or not isinstance(function, ast.Attribute)
    ):
        return None
    element = node.args[0]
    if isinstance(element, ast.Name):
        # Attributes hold what a method was handed; a local list of a local name is mostly one of numbers.
        held = element.id if callee.startswith("self.") else ""
    else:
        held = names.made(element) if isinstance(element, ast.Call) else ""
    return (function.value, TABLE + held) if held else None


def items_of(target: ast.expr, over: ast.expr) -> list[tuple[ast.expr, str]]:
    """What a loop takes from each of several tables side by side, `for a, b in zip(A, B)`, or from one."""
    if isinstance(over, ast.Call) and isinstance(over.func, ast.Name) and over.func.id == "zip":
        targets = target.elts if isinstance(target, ast.Tuple | ast.List) else []
        if len(targets) != len(over.args):
            return []
        pairs = [item_of(each, table) for each, table in zip(targets, over.args, strict=True)]
    else:
        pairs = [item_of(target, over)]
    return [pair for pair in pairs if pair is not None]


_HOLDERS = frozenset({"ModuleList", "ModuleDict"})


def item_of(target: ast.expr, over: ast.expr) -> tuple[ast.expr, str] | None:
    """(name, binding's value) of what a loop takes from a table: of `name, fn in TABLE.items()` it is `fn`."""
    table = iterated(over)
    if isinstance(target, ast.Tuple | ast.List):
        paired = table.endswith(".items()") or (isinstance(over, ast.Call) and chain(over.func) == "enumerate")
        if not paired or not target.elts:
            return None
        target = target.elts[-1]
    if not isinstance(target, ast.Name) or "?" in table:
        return None
    for ending in (".items()", ".values()"):
        table = table.removesuffix(ending)
    return None if table.endswith("()") else (target, ITEM + table)


_CALLS_AT_ONCE = frozenset(
    "map filter sort sorted nlargest nsmallest max min sum any all list tuple reduce tree_map apply recursive_apply "
    "apply_to_collection apply_to_tensors nested_map starmap groupby map_structure tree_map_only map_tensors".split()
)
"""Functions that call a lambda they are given then and there; others keep it for a case that may never come."""


def keeps_lambdas(callee: str) -> bool:
    """Whether a function that is called with a lambda keeps it for later."""
    return last_part(callee) not in _CALLS_AT_ONCE
