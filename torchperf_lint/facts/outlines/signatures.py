"""What outlines keep of parameters, their defaults, annotations and iterables: chains."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from torchperf_lint.facts.outlines.records import Class, Parameter, new_record
from torchperf_lint.facts.outlines.shape_hints import bare_class
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.expressions_written import as_written
from torchperf_lint.facts.syntax.literals import is_false, is_none
from torchperf_lint.patterns import pattern

if TYPE_CHECKING:
    from torchperf_lint.facts.outlines.mentions import Names

_WRAPPERS = {"enumerate", "zip", "iter", "islice", "reversed", "list", "tuple", "sorted", "cycle", "chain", "next"}
_PROGRESS = pattern(r"tqdm|track|progress|pbar|log_every|trange|prefetch|bar$|prepare|setup_dataloaders", re.IGNORECASE)
CONTAINERS = frozenset({"tuple", "Tuple", "list", "List", "Sequence", "Iterable"})
MAPPINGS = frozenset({"dict", "Dict", "Mapping"})
PLAIN_TYPES = frozenset({"int", "float", "bool", "str"})
ACCELERATOR_NAME = pattern(r"(?:^|[._])(?:accelerator|fabric)$", re.IGNORECASE)
"""What accelerate's and Fabric's objects are called: they prepare loaders, `gather` tensors and run `backward`."""
LOADER_NAME = pattern(
    r"loader|(?:^|_)dl$|(?:^|_)dls?_|data_?ite?r|(?:^|_)(?:batch|epoch|train|valid|test)_itr$|_batches$|^batches$",
    re.IGNORECASE,
)
"""Names of loaders, and of iterators over batches."""
DEPTH = 5
"""Containers within each other; what is further in counts as unknown."""
_ITERATION = frozenset({"enumerate", "zip", "iter", "islice", "cycle", "next"})
_BARS = pattern(r"tqdm|^trange$|^track$|progress_?bar|^pbar$", re.IGNORECASE)


_BOUND = frozenset("self cls mcs mcls metacls klass this me s c _self _cls __self self_ cls_".split())
"""What the object or class is called that a method is bound to."""


def decorators(
    node: ast.FunctionDef | ast.AsyncFunctionDef, classes: Sequence[Class], of_class: int, names: Names
) -> tuple[str, ...]:
    """The decorators of a function; of a method without `self` that is called by its class's name, as if it had said
    that it is static: `def is_bad(x)`, and `Scaler.is_bad(p.grad)`."""
    found = tuple(chain(d) for d in node.decorator_list)
    first = node.args.args[:1] or node.args.posonlyargs[:1]
    if found or of_class < 0 or not first or first[0].arg in _BOUND or node.name.startswith("__"):
        return found
    return ("staticmethod",) if f"{classes[of_class].name}.{node.name}(" in names.text else ()


@lru_cache(maxsize=1 << 14)
def is_iteration(callee: str) -> bool:
    """Whether a function passes on, item by item, what it is given: iterators, progress bars."""
    name = last_part(callee)
    return name in _ITERATION or bool(_BARS.search(name))


def shown_at_will(choice: ast.IfExp) -> ast.Call | None:
    """`tqdm(x)` of `tqdm(x) if verbose else x`, which go over the same; None of other choices."""
    sides = (choice.body, choice.orelse)
    bar = next((s for s in sides if isinstance(s, ast.Call) and _BARS.search(last_part(chain(s.func)))), None)
    over = iterated(choice.body)
    return bar if bar is not None and "?" not in over and over == iterated(choice.orelse) else None


def iterated(node: ast.expr) -> str:
    """The chain of what a loop iterates, without the wrappers that pass its items through."""
    for _ in range(6):
        if not isinstance(node, ast.Call) or not node.args:
            break
        name = last_part(chain(node.func))
        if name in _COUNTS and len(node.args) == 3:
            return IN_BATCHES if _is_stride(node.args[2]) else f"{name}()"
        if name not in _WRAPPERS and not _PROGRESS.search(name):
            break
        node = _loader_of(node.args) if name == "zip" else node.args[0]
    return chain(node)


def _loader_of(side_by_side: list[ast.expr]) -> ast.expr:
    """Which of several iterables says most of a loop: the loader of `zip(bar, loader)`, else the first."""
    named = (node for node in side_by_side if LOADER_NAME.search(last_part(chain(node))))
    return next(named, side_by_side[0])


IN_BATCHES = "range(batches)"
"""What a loop goes over in `for start in range(0, len(texts), batch_size)`: one batch a turn, as from a loader."""
_COUNTS = frozenset({"range", "trange"})


def _is_stride(step: ast.expr) -> bool:
    """Whether a step takes several at once: a name for how many, or a number above one; not a way back, `-1`."""
    if isinstance(step, ast.Constant):
        return isinstance(step.value, int) and step.value > 1
    return not isinstance(step, ast.UnaryOp)


def parameters(args: ast.arguments) -> tuple[Parameter, ...]:
    """The parameters of a function, `*args` and `**kwargs` left out."""
    plain = [*args.posonlyargs, *args.args]
    without = len(plain) - len(args.defaults)
    found = [new_record(Parameter, (a.arg, _annotation(a), i >= without, False)) for i, a in enumerate(plain)]
    found += [
        Parameter(a.arg, _annotation(a), d is not None, by_name=True)
        for a, d in zip(args.kwonlyargs, args.kw_defaults, strict=True)
    ]
    return tuple(found)


def _annotation(argument: ast.arg) -> str:
    annotation = argument.annotation
    return "" if annotation is None else annotation_chain(annotation)


def annotation_chain(node: ast.expr) -> str:
    """The chain of a class in an annotation; `Optional[X]`, `X | None` and `"X"` count as X. Else empty.

    Of alternatives that are all plain one is taken, `int` for `int | float`.
    A container of tensors is kept as written, `tuple[torch.Tensor, torch.Tensor]`, and so is one of numbers or texts.
    """
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        name = chain(node)
        return "" if "?" in name else name
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return re.sub(r"^(?:\w+\.)?Optional\[(.*)\]$|\s*\|\s*None$", r"\1", node.value).strip("'\" ")
    if isinstance(node, ast.BinOp) and is_none(node.right):
        return annotation_chain(node.left)
    of = last_part(chain(node.value)) if isinstance(node, ast.Subscript) else ""
    if isinstance(node, ast.Subscript) and of == "Optional":
        return annotation_chain(node.slice)
    bare = bare_class(node)
    if bare is not None:
        return annotation_chain(bare)
    if isinstance(node, ast.BinOp) or (isinstance(node, ast.Subscript) and of == "Union"):
        told = _plain_alternative(node) or _one_of_tensors(node)
        if told or isinstance(node, ast.BinOp):
            return told
    if isinstance(node, ast.Subscript) and (holds_tensors(node) or holds_numbers(node)):
        return as_written(node)
    name = chain(node)
    return "" if "?" in name else name


def _plain_alternative(node: ast.expr) -> str:
    """One of several classes none of which is a tensor's: `int` for `int | torch.dtype`; "" where one may be."""
    stack, names = [node], []
    while stack:
        part = stack.pop()
        if isinstance(part, ast.BinOp):
            stack += [part.left, part.right]
        elif isinstance(part, ast.Subscript) and last_part(chain(part.value)) in ("Union", "Optional"):
            stack += parts_of(part)
        elif not is_none(part):
            names.append(chain(part))
    told = [name for name in names if name in ("int", "float", "bool", "str")]
    others = {last_part(name) for name in names} - {"int", "float", "bool", "str", "dtype", "Path", "Number"}
    return min(told) if told and not others else ""


def _one_of_tensors(node: ast.BinOp | ast.Subscript) -> str:
    """`TensorImage` of `TensorImage | TensorMask`: where each is a class of tensors, the first says as much."""
    sides = [node.left, node.right] if isinstance(node, ast.BinOp) else parts_of(node)
    parts = [annotation_chain(part) for part in sides if not is_none(part)]
    return parts[0] if parts and all(map(TENSOR_CLASS.match, parts)) else ""


TENSOR_CLASS = pattern(r"^(?:\w+\.)*(?:Tensor[A-Z]\w*|\w*Tensor)$|^(?:(?:torch\.)?autograd\.)?Variable$")
"""torch's own class, what it was before torch 0.4, and those that fastai derives from it: `TensorImage`."""


def holds_tensors(node: ast.expr, depth: int = 0) -> bool:
    """Whether an annotation names a container that holds tensors, at some depth; a dict's keys are text or numbers."""
    if not isinstance(node, ast.Subscript) or depth >= DEPTH:
        return False
    if last_part(chain(node.value)) not in CONTAINERS | MAPPINGS | ({"Optional"} if depth else set()):
        return False
    return any(is_tensor(part) or holds_tensors(part, depth + 1) for part in held(node))


def holds_numbers(node: ast.expr, depth: int = 0) -> bool:
    """Whether an annotation names a container of nothing but numbers and texts: `dict[str, list[int]]`."""
    if not isinstance(node, ast.Subscript) or depth >= DEPTH:
        return False
    if last_part(chain(node.value)) not in CONTAINERS | MAPPINGS | ({"Optional", "Union"} if depth else set()):
        return False
    parts = [part for part in held(node) if not is_none(part)]
    return bool(parts) and all(chain(part) in PLAIN_TYPES or holds_numbers(part, depth + 1) for part in parts)


def held(node: ast.Subscript) -> list[ast.expr]:
    """What the elements of a container are annotated as."""
    parts = parts_of(node)
    if last_part(chain(node.value)) in MAPPINGS:
        return parts[1:] if len(parts) == 2 and chain(parts[0]) in PLAIN_TYPES else []
    return [_not_none(part) for part in parts if not is_ellipsis(part)]


def parts_of(node: ast.Subscript) -> list[ast.expr]:
    """What stands between the brackets of an annotation."""
    return node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]


def _not_none(node: ast.expr) -> ast.expr:
    """`X` of `X | None`."""
    none = isinstance(node, ast.BinOp) and is_none(node.right)
    return node.left if none and isinstance(node, ast.BinOp) else node


def is_tensor(node: ast.expr) -> bool:
    """Whether an annotation is that of a tensor."""
    return last_part(chain(node)) == "Tensor"


def is_ellipsis(node: ast.expr) -> bool:
    """Whether it is the `...` of `tuple[X, ...]`."""
    return isinstance(node, ast.Constant) and node.value is Ellipsis


_LABELS = pattern(
    r"^(?:\w+_)?(?:labels?|targets?)$|^(?:start|end)_positions$|^(?:attention_masks?|input_mask|token_type_ids)$"
)
"""What training and tokenizers give a model beside its input: `forward(self, input_ids, attention_mask=None)`."""


_COUNTED_BY_TRAINER = "num_items_in_batch"
"""What transformers' Trainer gives `compute_loss` since 4.46, whatever its default."""


Defaults = Sequence[tuple[str, ast.expr]]
"""Parameters with their defaults, as `defaulted` gives them."""


def off_by_default(defaults: Defaults) -> frozenset[str]:
    """The parameters whose default is None, False or `()`, and which a training step may leave there."""
    off = [name for name, default in defaults if is_none(default) or is_false(default)]
    nothing = [name for name, default in defaults if isinstance(default, ast.Tuple) and not default.elts]
    kept = frozenset(name for name in off if not _LABELS.search(name) and name != _COUNTED_BY_TRAINER)
    return kept.union(nothing)


def on_by_default(defaults: Defaults) -> dict[str, object]:
    """The parameters whose default switches something on, with it: `verbose=1`, `debug=True`."""
    pairs = [(name, d.value) for name, d in defaults if isinstance(d, ast.Constant)]
    return {name: value for name, value in pairs if isinstance(value, int) and value}


def defaulted(args: ast.arguments) -> list[tuple[str, ast.expr]]:
    """The parameters that have a default, with it."""
    if not args.defaults and not args.kw_defaults:
        return []  # most functions, and each is asked several times
    plain = [*args.posonlyargs, *args.args]
    found = [(p.arg, d) for p, d in zip(plain[len(plain) - len(args.defaults) :], args.defaults, strict=True)]
    pairs = zip(args.kwonlyargs, args.kw_defaults, strict=True)
    return found + [(p.arg, d) for p, d in pairs if d is not None]


DEFAULT = "default"
"""The kind of a region that is a lambda, the default of a parameter; its detail: `number:parameter`."""

NAMED = "named"
"""The kind of a region that is a lambda, bound to a name of a module or of a function; its detail: the name."""


def default_lambdas(node: ast.AST) -> list[ast.expr]:
    """The lambdas that are defaults of a function's parameters, or of those of a class's methods."""
    found: list[ast.expr] = []
    for definition in node.body if isinstance(node, ast.ClassDef) else [node]:
        if isinstance(definition, ast.FunctionDef | ast.AsyncFunctionDef):
            found += [d for _, d in defaulted(definition.args) if isinstance(d, ast.Lambda)]
    return found
