"""Lists of settings that a module is built with, and that a tensor picks from: `self.rates[rate_id]`.

Such a list takes a number of Python's, so the tensor is read. A parameter that is annotated as a tensor is one, where
one with several elements has no place.
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.bindings.hints import SEQUENCES, annotation_words
from torchperf_lint.facts.constants.held import set_in_constructors
from torchperf_lint.facts.files.source import Place, SourceFile
from torchperf_lint.model import Confidence

_HELD = frozenset({"int", "float", "str", "bool"})
_MAPPINGS = frozenset({"dict", "Dict", "Mapping", "MutableMapping", "OrderedDict"})


def picks_a_setting(file: SourceFile, place: Place, index: ast.expr) -> bool:
    """Whether an index takes a number or text out of a list of the module's, and is a tensor by its annotation."""
    taken = place.expression
    if not isinstance(taken, ast.Subscript) or taken.slice is not index or not isinstance(index, ast.Name):
        return False
    if not isinstance(taken.value, ast.Attribute) or not _is_annotated(file, place, index):
        return False
    return _is_list_of_settings(file, place, taken.value)


def _is_annotated(file: SourceFile, place: Place, index: ast.Name) -> bool:
    body = file.project.body(file.path)
    given = {p.name for p in file.outline.functions[place.function].parameters if p.annotation.endswith("Tensor")}
    if index.id not in given or body is None or body.definitions(place.function).get(index.id):
        return False
    value = file.value(index, place)
    return value.kind == "tensor" and value.confidence is not Confidence.POSSIBLE


def _is_list_of_settings(file: SourceFile, place: Place, held: ast.Attribute) -> bool:
    """Whether constructors put nothing there but what their annotations call a list of numbers or texts."""
    values = file.project.values
    own = values.index.class_of(file.path, place.function)
    if own is None or values.thing(held.value, place.frame) != own:
        return False
    found = list(set_in_constructors(values, own, held))
    return bool(found) and all(_is_list(file, key.path, key.index, value) for key, value in found)


def _is_list(file: SourceFile, path: str, constructor: int, value: ast.expr | None) -> bool:
    body = file.project.body(path)
    if body is None or not isinstance(value, ast.Name):
        return False
    words = annotation_words(body, constructor, value.id) or frozenset()
    return bool(words & SEQUENCES) and bool(words & _HELD) and not words & _MAPPINGS
