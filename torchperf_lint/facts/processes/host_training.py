"""Training that code keeps on the host: devices that are only ever the CPU, frameworks told to use no other."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.files.switches import Mark
from torchperf_lint.facts.hotness.hot import Hot
from torchperf_lint.facts.processes.environment import settings_of
from torchperf_lint.facts.processes.framework_runs import is_short
from torchperf_lint.facts.processes.training_arguments import ARGUMENTS
from torchperf_lint.facts.syntax.arguments import keyword, literal
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.literals import is_literal
from torchperf_lint.facts.values.value import Frame

VISIBLE = "CUDA_VISIBLE_DEVICES"
HIDDEN = ("", "-1")
"""Values of `CUDA_VISIBLE_DEVICES` that leave no device."""
OTHER_DEVICES = ("cuda", "mps", "xpu", "hpu", "npu", "xla", "accelerat", "get_device", "Fabric", "Trainer", "deepspeed")
"""A text with one of these may train elsewhere after all."""
_ACCELERATORS = ("accelerate.Accelerator", "accelerate.accelerator.Accelerator")
_TRAINERS = ("lightning.Trainer", "lightning.pytorch.Trainer", "pytorch_lightning.Trainer")


class OnHost(NamedTuple):
    """Where a run is kept on the host."""

    mark: Mark
    written: str
    what: str
    """What the code there does, after its own text."""
    instead: str
    hot: Hot | None


def kept_on_host(file: SourceFile) -> Iterator[OnHost]:
    """The places of a file that keep what it trains on the host."""
    yield from _told_to_frameworks(file)
    if not file.mentions((".backward(",)):
        return
    hot = _step(file)
    if hot is None:
        return
    if not file.mentions(OTHER_DEVICES):
        yield from _devices(file, hot)
    if file.mentions((VISIBLE,)):
        for mark, value in settings_of(file, VISIBLE):
            if isinstance(value, ast.Constant) and value.value in HIDDEN:
                yield OnHost(
                    mark,
                    f"{VISIBLE}={value.value}",
                    "hides every device from the run",
                    "leave it out, or name a device",
                    hot,
                )


def _told_to_frameworks(file: SourceFile) -> Iterator[OnHost]:
    for names, arguments, advice in (
        (ARGUMENTS, ("use_cpu", "no_cuda"), "leave it out: the trainer takes the device that there is"),
        (_ACCELERATORS, ("cpu",), "leave it out: accelerate takes the device that there is"),
        (_TRAINERS, ("accelerator",), '`accelerator="auto"` takes the device that there is'),
    ):
        if not file.mentions(arguments):
            continue
        for site in file.calls_of(*names):
            found = next((name for name in arguments if literal(site.call, name) in (True, "cpu")), None)
            value = keyword(site.call, found) if found is not None else None
            if value is not None and not is_short(site.call):
                written = f"{found}={ast.unparse(value)}"
                yield OnHost(Mark(file, value, site.function), written, "keeps the whole run on the host", advice, None)


def _step(file: SourceFile) -> Hot | None:
    """Why a backward pass of the file runs in every step."""
    for call in file.outline.calls:
        if last_part(call.callee) == "backward":
            hot = file.project.hotness.of_region(file.path, call.region)
            if hot is not None and hot.kind == "step":
                return hot
    return None


def _devices(file: SourceFile, hot: Hot) -> Iterator[OnHost]:
    """`device = torch.device("cpu")`, where a model is moved there and the name is nothing else anywhere."""
    body = file.project.body(file.path)
    for function in sorted(body.functions) if body is not None else ():
        for name, definitions in body.definitions(function).items() if body is not None else ():
            value = definitions[0].value if len(definitions) == 1 and definitions[0].how == "assign" else None
            if value is None or not _is_cpu(file, value, Frame(file.path, function, definitions[0].at)):
                continue
            if _moves_a_model(file, name, function):
                advice = '`torch.device("cuda" if torch.cuda.is_available() else "cpu")`'
                what = "is the only device of a script that trains"
                yield OnHost(Mark(file, value, function), f"{name} = {ast.unparse(value)}", what, advice, hot)


def _is_cpu(file: SourceFile, node: ast.expr, frame: Frame) -> bool:
    if isinstance(node, ast.Call) and len(node.args) == 1 and not node.keywords:
        thing = file.project.values.thing(node.func, frame)
        if thing is None or thing.dotted != "torch.device":
            return False
        node = node.args[0]
    return is_literal(node, "cpu")


def _moves_a_model(file: SourceFile, name: str, function: int) -> bool:
    """Whether something is moved to a device of that name: a model, or whatever a step moves there."""
    for site in file.calls_among(call for call in file.outline.calls if last_part(call.callee) == "to"):
        given = site.call.args[0] if site.call.args else site.keyword("device")
        if given is None or chain(given) != name or site.receiver is None:
            continue
        visible = function in (site.function, 0)
        if visible and file.value(site.receiver, site).kind == "module":
            return True
    return False
