"""Loops that evaluate a model while autograd records: `model.eval()`, and no `no_grad` around.

    model.eval()
    for x, y in val_loader:
        correct += (model(x).argmax(1) == y).sum()

Told by three things together: the function puts a model into evaluation mode, a loop over a loader follows it, and the
loop calls that very model. Whatever may ask for gradients, anywhere near, leaves it unsaid.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from torchperf_lint.facts.bodies import Body
from torchperf_lint.facts.index import FunctionKey
from torchperf_lint.facts.records import Call, Region
from torchperf_lint.facts.source import Site, SourceFile
from torchperf_lint.patterns import pattern

_GRADIENTS = pattern(
    r"grad\b|_grad|requires_grad|inference_mode|backward|attack|adversar|salien|attribut|create_graph|autograd|"
    r"optimizer\.step|\.train\((?:True)?\)|forces\b|torch\.func\b|jacobian|hessian|enable_grad|fabric|accelerator"
)
"""What gradients may be for, or what switches them off, in the text of a function."""
_FROZEN = pattern(r"requires_grad_?\s*(?:=\s*|\()False|\.freeze\(|jit\.load|onnx|TensorRT|trt\b")
_UP = 2


class Evaluated(NamedTuple):
    """A call of a model in a loop that evaluates it with gradients."""

    site: Site
    model: str
    line: int
    """Where the model is put into evaluation mode."""
    head: int
    """The line of the loop."""


def put_into_evaluation(file: SourceFile) -> Iterator[tuple[Call, str]]:
    """Calls of `model.eval()` in functions, with the chain of the model."""
    for call in file.outline.calls:
        model, _, method = call.callee.rpartition(".")
        if method == "eval" and model and call.function != 0 and "?" not in model and "()" not in model:
            yield call, model


def evaluated_with_grad(file: SourceFile) -> Iterator[Evaluated]:
    """The first call of each evaluated model in each such loop of a file."""
    for call, model in put_into_evaluation(file):
        if _says_more(file, call.function) or _FROZEN.search(file.text):
            continue
        if any(site.call.args or site.call.keywords for site in file.calls_among([call])):
            continue  # `frame.eval("a + b")`
        for number, region in enumerate(file.outline.regions):
            if _follows(region, call):
                found = _called_in(file, number, region, model)
                if found is not None:
                    yield Evaluated(found, model, call.line, region.head)


def _follows(region: Region, call: Call) -> bool:
    """Whether a loop of the same function comes after the call, in the same turn of all loops around it."""
    return region.kind == "loop" and region.function == call.function and region.start[0] > call.line


def _called_in(file: SourceFile, number: int, region: Region, model: str) -> Site | None:
    hotness = file.project.hotness
    loop = hotness.loops.at(file.path, number)
    if loop is None or loop.kind != "eval":
        return None
    records = [
        call
        for call in file.outline.calls
        if call.callee == model and call.function == region.function and _within(file, call.region, number)
    ]
    for site in file.calls_among(records[:1]):
        position = file.span(site.call)[0]
        if site.hot is None or not hotness.grad_mode.records(file.path, position):
            continue
        if not model_switches_off(file, site):
            return site
    return None


def _within(file: SourceFile, inner: int, loop: int) -> bool:
    while inner >= 0 and inner != loop:
        inner = file.outline.regions[inner].parent
    return inner == loop


def model_switches_off(file: SourceFile, site: Site) -> bool:
    """Whether the model's own code runs without gradients, or asks for them."""
    project = file.project
    return any(
        _says_more_in(project.body(key.path), key.index) or project.hotness.grad_mode.is_off(key, 0)
        for key in project.types.targets(file.path, site.function, site.record.callee)
    )


def _says_more_in(body: Body | None, function: int) -> bool:
    """Whether the text of a function, its decorators too, speaks of gradients."""
    if body is None:
        return True
    record = body.outline.functions[function]
    return _GRADIENTS.search("".join(body.lines[record.line - 1 : record.end_line])) is not None


def _says_more(file: SourceFile, function: int, hops: int = _UP) -> bool:
    """Whether a function, what it stands in, or what calls it says anything about gradients."""
    project = file.project
    pending = [(FunctionKey(file.path, function), hops)]
    while pending:
        key, left = pending.pop()
        if key.index == 0:
            continue
        if _says_more_in(project.body(key.path), key.index):
            return True
        parent = project.index.function(key).parent
        if parent > 0:
            pending.append((FunctionKey(key.path, parent), left))
        if left:
            pending += [(FunctionKey(s.path, s.call.function), left - 1) for s in project.hotness.callers.get(key, ())]
    return False
