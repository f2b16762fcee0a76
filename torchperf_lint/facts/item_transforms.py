"""Data sets that are given transforms of images, which they run for each item: `Cifar(root, transform=train_tf)`."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torchperf_lint.facts.chains import chain, last_part
from torchperf_lint.facts.value import Frame
from torchperf_lint.patterns import pattern

if TYPE_CHECKING:
    from torchperf_lint.facts.values import Values

_GIVEN = pattern(r"^(?:\w+_)?(?:transforms?|augmentations?|augment)$")
_COMPOSED = pattern(
    r"^(?:torchvision\.transforms|albumentations|monai\.transforms|timm\.data|torchaudio\.transforms)\."
)
_DATA_SET = pattern(r"^[A-Z]|data_?set|_ds$")


def transforms_given(values: Values, data: ast.expr, frame: Frame) -> str | None:
    """What reading one item costs, in words, where the data set was made with transforms of a library of images."""
    made = _made(values, data, frame)
    if made is None or not _DATA_SET.search(last_part(chain(made.func))):
        return None
    for keyword in made.keywords:
        if keyword.arg is None or not _GIVEN.search(keyword.arg):
            continue
        called = _made(values, keyword.value, frame)
        thing = values.thing(called.func, frame) if called is not None else None
        if thing is not None and thing.kind == "external" and _COMPOSED.search(thing.dotted):
            return f"`{last_part(chain(made.func))}` runs `{chain(keyword.value)}` (line {made.lineno}) for each item"
    return None


def _made(values: Values, node: ast.expr, frame: Frame) -> ast.Call | None:
    """The call that an expression is, or that a name is bound to once."""
    if isinstance(node, ast.Call):
        return node
    body = values.body(frame.path) if isinstance(node, ast.Name) else None
    only = body.assigned_once(frame.function, chain(node), frame.at) if body is not None else None
    return only if isinstance(only, ast.Call) else None
