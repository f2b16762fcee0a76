"""Functions that are named without being called there: handed to another, kept in a table, read as a property.

What runs them is decided later, from all outlines; here is only what one file's syntax shows.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from torchperf_lint.facts.chains import chain, last_part
from torchperf_lint.facts.records import Mention, Outline
from torchperf_lint.facts.signatures import iterated

HOOKS = frozenset(
    "register_forward_hook register_forward_pre_hook register_full_backward_hook register_full_backward_pre_hook "
    "register_backward_hook register_hook register_post_accumulate_grad_hook register_module_forward_hook "
    "register_module_forward_pre_hook register_step_post_hook register_step_pre_hook".split()
)
"""What modules, tensors and optimizers of torch are given a function by, to call it in every pass."""
_LIBRARIES = frozenset("torch numpy math os sys typing jax tensorflow pandas".split())
"""Whose names, handed on, are no functions of the project."""
_EVENTS = frozenset({"on", "add_event_handler"})
_FIRES = re.compile(r"fire|emit|trigger|notify|dispatch|publish|invoke|(?:^|_)(?:call|run|execute|handle)(?:_|$)")
"""In the names of methods that call whatever listens to the event they are handed."""
_EVERY_BATCH = frozenset(
    "ITERATION_STARTED ITERATION_COMPLETED GET_BATCH_STARTED GET_BATCH_COMPLETED BACKWARD_COMPLETED "
    "OPTIM_STEP_COMPLETED LOSS_COMPLETED MODEL_COMPLETED".split()
)
"""Events of ignite's engines that happen for every batch."""
_NAMED = (ast.Name, ast.Attribute, ast.Call)
_MOST = 12
"""Functions in one table; a longer list says little about any."""

PARTIAL, TABLE, ITEM, CHOICE = "@", "{", "*", "|"
"""How a binding's value begins that is a partial, a table of functions, an item of a table, one of several."""

Named = tuple[str, str, str]
"""(kind, the chain that names the function, what it is handed to or stands for)."""


def handed_over(node: ast.Call, callee: str) -> Iterator[Named]:
    """The functions that a call hands to torch, to ignite, or to whatever it calls; and names of methods, as text."""
    name = last_part(callee)
    if name in HOOKS:
        yield from (("hook", chain(argument), name) for argument in node.args[:1])
    elif name in _EVENTS:
        if len(node.args) > 1 and _every_batch(node.args[0]):
            yield "event", chain(node.args[1]), last_part(chain(node.args[0]))
    elif node.args and isinstance(node.args[0], ast.Constant):
        text = node.args[0].value
        if isinstance(text, str) and text.isidentifier():
            if "_" in text.strip("_") or _FIRES.search(name):
                yield "name", text, callee
            yield from (("listener", chain(function), f"{text}:{callee}") for function in node.args[1:2])
    args = node.args
    if name == "partial" and args:
        callee, args = chain(args[0]), args[1:]
    given = [(str(i), argument) for i, argument in enumerate(args)]
    given += [(k.arg, k.value) for k in node.keywords if k.arg]
    for place, argument in given if "?" not in callee else ():
        yield from (("given", named, f"{place}:{callee}") for named in _functions_in(argument))


def listens(decorators: list[ast.expr]) -> str | None:
    """The event of every batch that a decorator has its function called at: `@on(Events.ITERATION_STARTED)`."""
    for node in decorators:
        if isinstance(node, ast.Call) and node.args and last_part(chain(node.func)) in _EVENTS:
            return last_part(chain(node.args[0])) if _every_batch(node.args[0]) else None
    return None


def _every_batch(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and node.attr in _EVERY_BATCH


def defaults_of(args: ast.arguments) -> Iterator[tuple[str, str]]:
    """(parameter, chain) of each function that a parameter's default names."""
    plain = [*args.posonlyargs, *args.args]
    pairs = [*zip(plain[len(plain) - len(args.defaults) :], args.defaults, strict=True)]
    for parameter, default in [*pairs, *zip(args.kwonlyargs, args.kw_defaults, strict=True)]:
        if default is not None:
            yield from ((parameter.arg, named) for named in _functions_in(default))


def _functions_in(node: ast.expr) -> list[str]:
    """The chains that may name functions: the node itself, what a partial is of, what a short list holds; in a list
    also objects that are made there, `[Accuracy(), Logger(path)]`."""
    kind = type(node)
    if kind is ast.Name or kind is ast.Attribute:
        return [chain(node)]
    if kind is ast.Call:
        partial = bound_functions(node)
        return [] if partial is None else [partial]
    if kind is ast.List or kind is ast.Tuple:
        return [chain(e) for e in node.elts[:_MOST] if type(e) in _NAMED]  # type: ignore[attr-defined]
    return []


def bound_functions(node: ast.expr) -> str | None:
    """What a name is bound to, as a binding's value, by a partial, a table of functions and objects, or a choice."""
    if isinstance(node, ast.IfExp):
        return _any_of([node.body, node.orelse], CHOICE)
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Dict):
        return _any_of(node.value.values, CHOICE)
    if isinstance(node, ast.Call):
        if not node.args or last_part(chain(node)) != "partial":
            return None
        of = chain(node.args[0])
        spread = any(isinstance(argument, ast.Starred) for argument in node.args)
        return None if "?" in of or spread else f"{PARTIAL}{len(node.args) - 1}:{of}"
    if isinstance(node, ast.Dict):
        return _any_of(node.values, TABLE)
    return _any_of(node.elts, TABLE) if isinstance(node, ast.List | ast.Tuple) else None


def _any_of(items: list[ast.expr], mark: str) -> str | None:
    """The marked chains of some expressions; None where one has no chain, or is an item of something."""
    chains = [chain(item) for item in items[: _MOST + 1]]
    if not chains or len(chains) > _MOST or any("?" in c or "[" in c for c in chains):
        return None
    return mark + "|".join(chains)


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


def of_functions(out: Outline) -> Iterator[Mention]:
    """The mentions of what a file defines as a function or has imported; all others are of plain values."""
    own = {f.name for f in out.functions} | {cls.name for cls in out.classes}
    known = own | {name for name, of in out.imports.items() if of.partition(".")[0] not in _LIBRARIES}
    properties = {f.name for f in out.functions if any(d.endswith("property") for d in f.decorators)}
    for mention in out.mentions:
        head, _, rest = mention.chain.rpartition(":")[2].removesuffix("()").partition(".")
        if mention.kind == "property":
            if rest in properties:
                yield mention
        elif mention.kind not in ("given", "default", "listener") or (rest in own if head == "self" else head in known):
            yield mention
