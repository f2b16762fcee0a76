"""Data sets of Hugging Face that work as they are read: `set_transform`, `with_transform`."""

from __future__ import annotations

import ast
import re

from torchperf_lint.facts.call_graph.index import FunctionKey
from torchperf_lint.facts.syntax.arguments import keyword
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.values.value import Frame
from torchperf_lint.facts.values.values import Values
from torchperf_lint.patterns import pattern

_WORKS = pattern(
    r"(?:^|[._])(?:images?|pixels?|audio|waveform|speech|spectrogram|processor|feature_extractor|extractor|tokenizer|"
    r"tokenize|transforms?|augment\w*|resize|convert|resample|open)(?:[._\d]|$)",
    re.IGNORECASE,
)
"""What a function calls that does real work for each item."""


def transform_of(values: Values, data: ast.expr, frame: Frame) -> str | None:
    """What a data set runs for each item as it is read, in words, where the function that it runs does real work."""
    body = values.body(frame.path)
    node = body.functions.get(frame.function) if body is not None else None
    if body is None or node is None:
        return None
    for given in (_of_value(values, data, frame), *_set_on(node, data)):
        thing = values.thing(given, frame) if given is not None else None
        if thing is not None and thing.kind == "function" and given is not None:
            work = _work_of(values, FunctionKey(thing.path, thing.index))
            if work is not None:
                return f"`{chain(given)}` calls `{work}` for each item"
    return None


def _of_value(values: Values, data: ast.expr, frame: Frame) -> ast.expr | None:
    """What `with_transform` was given, where it made the data set, or the dictionary that it is taken from."""
    call = made_by(values, data.value if isinstance(data, ast.Subscript) else data, frame)
    given = isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "with_transform"
    return _first(call) if given and call is not None else None


def _set_on(node: ast.AST, data: ast.expr) -> list[ast.expr]:
    """What the function passes to `set_transform` of the data set, or of the dictionary that it is taken from."""
    names = {ast.unparse(data)}
    if isinstance(data, ast.Subscript):
        names.add(ast.unparse(data.value))
    calls = [n for n in ast.walk(node) if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute)]
    found = [c for c in calls if c.func.attr == "set_transform" and ast.unparse(c.func.value) in names]  # type: ignore[attr-defined]
    return [given for call in found if (given := _first(call)) is not None]


def _first(call: ast.Call) -> ast.expr | None:
    """The function that is passed, of `partial(function, ...)` too."""
    given = call.args[0] if call.args else keyword(call, "transform")
    if isinstance(given, ast.Call) and last_part(chain(given.func)) == "partial" and given.args:
        return given.args[0]
    return given


def _work_of(values: Values, key: FunctionKey) -> str | None:
    return next((call.callee for call in values.index.calls_in(key) if _WORKS.search(call.callee)), None)


def made_by(values: Values, node: ast.expr | None, frame: Frame) -> ast.Call | None:
    """The call that an expression is, or that a name is bound to once."""
    if isinstance(node, ast.Call):
        return node
    body = values.body(frame.path) if isinstance(node, ast.Name) else None
    only = body.assigned_once(frame.function, chain(node), frame.at) if body is not None and node is not None else None
    return only if isinstance(only, ast.Call) else None
