"""Masks that a project keeps in its samples and batches: `graph.valid_mask`, `batch["agent"]["valid_mask"]`.

    sample["valid_mask"] = torch.zeros(n, dtype=torch.bool)         x = x[batch["valid_mask"]]

By the name, where the project gives what is called so a boolean tensor somewhere, and nowhere numbers.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from itertools import islice
from weakref import WeakKeyDictionary

from torchperf_lint.facts.bindings.names_of_file import NamesOfFile
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.literals import is_text
from torchperf_lint.facts.values.value import Frame
from torchperf_lint.facts.values.values import Values
from torchperf_lint.patterns import pattern

_NAME = pattern(r"\w_masks?$")
"""What is called `mask` and no more is many things in one project."""
_NUMBERS = frozenset("long int float double half bfloat16 int64 int32 nonzero argsort argwhere argmax topk".split())
_MANY = 16
"""Files that hold one name, and what each of them gives it, that are looked at."""
_known: WeakKeyDictionary[Values, dict[str, bool]] = WeakKeyDictionary()


def is_kept_mask(values: Values, node: ast.expr, is_mask: Callable[[Values, ast.expr, Frame], bool]) -> bool:
    """Whether an attribute or entry goes by a name that the project gives boolean tensors.

    :param is_mask: whether an expression is one, where it stands
    """
    name = _name_of(node)
    if not _NAME.search(name):
        return False
    answers = _known.setdefault(values, {})
    if name not in answers:
        answers[name] = False  # what is asked on the way there ends here
        given = list(_given(values, name))
        answers[name] = not any(_is_number(value) for value, _ in given) and any(
            is_mask(values, value, frame) for value, frame in given
        )
    return answers[name]


def _name_of(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    entry = node.slice if isinstance(node, ast.Subscript) else None
    return entry.value if isinstance(entry, ast.Constant) and is_text(entry) else ""  # type: ignore[return-value]


def _given(values: Values, name: str) -> Iterator[tuple[ast.expr, Frame]]:
    """What code gives a name, as a variable, an attribute, a keyword or under its key, and where that stands."""
    word = re.compile(rf"\b{re.escape(name)}\b[\"']?\]?\s*[=:]")
    text = values.hotness.programs.text
    holding = (path for path in values.index.outlines if name in text(path) and word.search(text(path)))
    for path in islice(holding, _MANY):
        body = values.body(path)
        given = NamesOfFile(path, body.functions[0]).given.get(name, ()) if body is not None else ()
        for value in [value for value in given if value is not None][:_MANY]:
            assert body is not None
            at = body.at(value)
            region = values.hotness.innermost(path, at)
            yield value, Frame(path, values.index.outlines[path].regions[region].function, at)


def _is_number(node: ast.expr) -> bool:
    """`mask.long()`, `torch.zeros(n, dtype=torch.long)`, `(x > 0).float()`: what no mask is taken for."""
    if not isinstance(node, ast.Call):
        return False
    told = [chain(keyword.value) for keyword in node.keywords if keyword.arg == "dtype"]
    return last_part(chain(node.func)) in _NUMBERS or any(last_part(one) in _NUMBERS for one in told)
