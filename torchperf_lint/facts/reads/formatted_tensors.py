"""Tensors on the device that are made into text: `print(loss)`, `bar.set_description("loss %.3f" % loss)`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from torchperf_lint.facts.copies.on_device import on_device
from torchperf_lint.facts.files.source import Place, SourceFile
from torchperf_lint.facts.reads.formatting import formatted
from torchperf_lint.facts.reads.tested_then_told import tells_what_was_tested
from torchperf_lint.facts.values.value import Value


class FormattedTensor(NamedTuple):
    """A hot place that writes a tensor."""

    place: Place
    part: ast.expr
    """The first tensor of those that it writes."""
    value: Value


def formatted_tensors(file: SourceFile) -> tuple[FormattedTensor, ...]:
    """The hot places of a file that make text of a tensor on the device."""
    return file.once(_formatted_tensors)


def is_written_within(file: SourceFile, call: ast.Call) -> bool:
    """Whether a call writes such a tensor in what it is given: the wait is that of the text, and told there."""
    first, last = call.lineno, call.end_lineno or call.lineno
    near = [found.place.expression for found in formatted_tensors(file)]
    near = [node for node in near if first <= node.lineno <= last]
    return bool(near) and any(part is node for part in ast.walk(call) for node in near)


def _formatted_tensors(file: SourceFile) -> tuple[FormattedTensor, ...]:
    return tuple(_found(file))


def _found(file: SourceFile) -> Iterator[FormattedTensor]:
    for place, parts in formatted(file):
        if place.hot is None or place.hot.kind == "data":
            continue
        for part in parts:
            value = on_device(file, place, part)
            if value is not None and value.kind == "tensor" and not tells_what_was_tested(place, part):
                yield FormattedTensor(place, part, value)
                break
