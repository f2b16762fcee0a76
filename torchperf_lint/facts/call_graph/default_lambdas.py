"""Lambdas that are defaults of parameters: they run where the parameter is called, `output_transform(x, y, loss)`.

def make_step(model, optimizer, output_transform=lambda loss: loss.item()):
    def update(engine, batch):
        ...
        return output_transform(loss)                     # every step
    return update
"""

from __future__ import annotations

from collections.abc import Iterator

from torchperf_lint.facts.call_graph.index import CallSite, FunctionKey
from torchperf_lint.facts.call_graph.types import Types
from torchperf_lint.facts.outlines.records import Outline, Region
from torchperf_lint.facts.outlines.signatures import DEFAULT

_HANDED_ON = 2
"""How many functions may hand a parameter on, under the same name, to the one that calls it."""


def runs_of(types: Types, path: str, region: Region) -> Iterator[CallSite]:
    """The calls that run the lambda, where no caller gives something else."""
    number, _, name = region.detail.partition(":")
    yield from _called(types, FunctionKey(path, int(number)), name, 0)


def written_in(outline: Outline, region: int, function: int) -> int:
    """The function whose text holds a call: a default belongs to the definition, though the code around runs it."""
    while region >= 0 and outline.regions[region].kind not in (DEFAULT, "function"):
        region = outline.regions[region].parent
    found = outline.regions[region] if region >= 0 else None
    return int(found.detail.partition(":")[0]) if found is not None and found.kind == DEFAULT else function


def _called(types: Types, key: FunctionKey, name: str, depth: int) -> Iterator[CallSite]:
    outline = types.index.outlines[key.path]
    own = [call for call in outline.calls if _stands_in(outline, call.function, key.index)]
    found = [CallSite(key.path, call) for call in own if call.callee == name]
    yield from found
    if found or depth >= _HANDED_ON:
        return
    # A factory that leaves the work to another one hands the parameter on, most often under its name.
    seen = set()
    for call in own:
        for target in types.targets(key.path, call.function, call.callee):
            taken = any(p.name == name for p in types.index.function(target).parameters)
            if target != key and taken and target not in seen:
                seen.add(target)
                yield from _called(types, target, name, depth + 1)


def _stands_in(outline: Outline, function: int, around: int) -> bool:
    while function > 0:
        if function == around:
            return True
        function = outline.functions[function].parent
    return False
