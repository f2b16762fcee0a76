"""Reads, one by one, of what a model gives for a batch, in evaluation: `for j in range(n): keep(out[j].cpu())`.

One copy of all of it is one wait. Where the model gives a list of tensors, their copies need not be waited for one by
one either. What is shown or saved for people, one file each, is left alone, and so are the records of detectors.
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.constants.tracing import Loop, traced
from torchperf_lint.facts.element_loops.cut_by_turn import cut_by_turn
from torchperf_lint.facts.element_loops.repeated import Repeated, repeated
from torchperf_lint.facts.files.source import Place, SourceFile
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.literals import is_text
from torchperf_lint.facts.syntax.syntax import names_of
from torchperf_lint.facts.values.value import Value
from torchperf_lint.model import Confidence
from torchperf_lint.patterns import pattern

_OUTPUT = "the output of `"
_SHOWS = pattern(r"(?:^|[._])(?:save|imwrite|imsave|write|dump|plot|show|draw|render|vis\w*|print)(?:_\w+)?$")


def element_of_output(file: SourceFile, place: Place, read: ast.expr) -> Repeated | None:
    """The read of one element of a model's output in a loop of its own inside the loop over batches."""
    hot = place.hot
    if hot is None or not (hot.kind == "eval" or hot.evaluates):
        return None
    found = repeated(file, place, read, _output)
    if found is None or not found.element or _is_of_a_record(file, place, read, found.loop):
        return None
    if _shows(found.loop, file.enclosing(place.function).parents):
        return None
    return found._replace(output=True)


def _output(file: SourceFile, place: Place, whole: ast.expr) -> Value | None:
    value = file.value(whole, place)
    told = value.kind == "tensor" and value.on_device and file.project.uses_accelerator and _OUTPUT in value.because
    return value.weaker(Confidence.LIKELY) if told else None


def _is_of_a_record(file: SourceFile, place: Place, read: ast.expr, loop: Loop) -> bool:
    """`detection["boxes"]` of `for detection in outputs`: as many rows as there are, of each image."""
    variables = names_of(loop.target)
    for step in traced(file, place, read, loop):
        if isinstance(step.node, ast.Name) and step.node.id in variables:
            return False
        if isinstance(step.node, ast.Subscript):
            if names_of(step.node.slice) & variables or cut_by_turn(file, place, loop, step.node.slice):
                return False
            if is_text(step.node.slice):
                return True
    return False


def _shows(loop: Loop, parents: dict[ast.AST, ast.AST]) -> bool:
    """Whether the turns show or save something, as they do for people."""
    body: list[ast.AST] = [*loop.body] if isinstance(loop, ast.For | ast.AsyncFor) else [parents.get(loop, loop)]
    calls = (node for part in body for node in ast.walk(part) if isinstance(node, ast.Call))
    return any(_SHOWS.search(last_part(chain(call.func))) for call in calls)
