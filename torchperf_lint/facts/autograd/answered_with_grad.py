"""Methods that answer one request with a network in evaluation mode, and record a graph that they throw away.

    def __init__(self, path):                    def predict(self, audio):
        self.model = build().to("cuda")              x = torch.tensor(audio, device="cuda")
        self.model.eval()                            return self.model(x).softmax(-1).data.cpu().numpy()

No loop of the project shows how often such a method runs: whoever uses the library calls it, with all that he has. So
all has to be certain but that: the mode is set, the input is on the device, and no way leads from the output to where a
gradient could be asked for.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from torchperf_lint.facts.autograd.evaluated_elsewhere import put_by_the_object
from torchperf_lint.facts.autograd.evaluated_with_grad import (
    is_frozen,
    model_switches_off,
    text_asks,
    wants_around,
)
from torchperf_lint.facts.autograd.graph_for_nobody import Recorded
from torchperf_lint.facts.autograd.ways_of_values import Ways
from torchperf_lint.facts.call_graph.index import FunctionKey
from torchperf_lint.facts.files.host_scripts import stays_on_host
from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.hotness.hot import Hot
from torchperf_lint.facts.values.value import DEVICE
from torchperf_lint.model import Confidence
from torchperf_lint.patterns import pattern

_ANSWERS = pattern(
    r"^(?:__call__|(?:predict|infer|inference|transcribe|recogni[sz]e|classify|detect|segment|translate)(?:_\w+)?)$"
)
"""Methods that answer one request, by their names."""
_OF_MODULES = ("load_state_dict", "to", "cuda")
"""What is called on a module that a constructor sets up, and on hardly anything else that has an `eval`."""


def answered_with_grad(file: SourceFile) -> Iterator[Recorded]:
    """The calls of networks in such methods of a file, each with where its output is detached first."""
    functions = file.outline.functions
    records = [
        call
        for call in file.outline.calls
        if call.callee.startswith("self.")
        and functions[call.function].class_index >= 0
        and _ANSWERS.search(functions[call.function].name)
    ]
    if not records or is_frozen(file) or stays_on_host(file):
        return
    for site in file.calls_among(records):
        if site.hot is not None or not _is_evaluated(file, site) or not _runs_on_the_device(file, site):
            continue
        ends = Ways(site).ends() if not _asks(file, site) else None
        if ends:
            yield Recorded(replace(site, hot=_asked_for(file, site)), min(ends), True, False)


def _runs_on_the_device(file: SourceFile, site: Site) -> bool:
    given = [*site.call.args, *(keyword.value for keyword in site.call.keywords)]
    values = (file.value(one, site) for one in given if not isinstance(one, ast.Starred))
    return any(value.kind == "tensor" and value.device == DEVICE for value in values)


def _is_evaluated(file: SourceFile, site: Site) -> bool:
    """Whether what is called is a module, which the object has put into evaluation mode by then."""
    project, key, model = file.project, FunctionKey(file.path, site.function), site.record.callee
    place = put_by_the_object(project, key, model)
    if place is None:
        return False
    if file.value(site.call.func, site).kind == "module":
        return True
    said = {call.callee for call in project.index.outlines[place[0]].calls}
    return any(f"{model}.{method}" in said for method in _OF_MODULES)


def _asks(file: SourceFile, site: Site) -> bool:
    """Whether gradients are off there, may be its callers' part, or anything speaks of what they may be for."""
    project, key = file.project, FunctionKey(file.path, site.function)
    grad_mode = project.hotness.grad_mode
    if not grad_mode.records(file.path, site.start) or grad_mode.is_left_to_callers(key):
        return True
    asks = text_asks(project.body(file.path), site.function) or wants_around(project, key)
    return asks or model_switches_off(file, site)


def _asked_for(file: SourceFile, site: Site) -> Hot:
    function = file.outline.functions[site.function]
    name = function.qualname
    because = f"`{name}` (line {function.header_line}) answers with a network, once for each request"
    when = f"for every call of `{name}`"
    return Hot("request", because, when, Confidence.LIKELY, file.path, function.header_line)
