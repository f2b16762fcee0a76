"""Loaders and the copies of their batches, across the project: who iterates which loader, who moves its batches."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import NamedTuple, TypeVar

from torchperf_lint.facts.call_graph.together import Together
from torchperf_lint.facts.devices.blocking import is_blocking
from torchperf_lint.facts.devices.devices import is_cuda_type, target_device
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.hotness.hot import Hot
from torchperf_lint.facts.loaders.batches_by_caller import batch_of_a_caller, is_for_others
from torchperf_lint.facts.loaders.handed_out import handed_out
from torchperf_lint.facts.loaders.without_preparing import runs_without_preparing
from torchperf_lint.facts.syntax.chains import last_part
from torchperf_lint.facts.values.iteration import handed_through, over_loaders
from torchperf_lint.facts.values.value import DEVICE, HOST, Frame, Value
from torchperf_lint.facts.values.values import Values
from torchperf_lint.model import Confidence

Origin = tuple[str, int, int]
"""Path, 1-based line and column of the call that makes a loader."""
T = TypeVar("T")
_TAKES = frozenset({"next", "__next__"})


class LoaderUse(NamedTuple):
    """A hot loop over a loader, or a hot place that takes the next batch."""

    path: str
    line: int
    hot: Hot


class BatchCopy(NamedTuple):
    """A copy of a batch, or of a part of one, to the device."""

    path: str
    line: int
    column: int
    blocking: bool
    hot: Hot


def batch_copy(values: Values, node: ast.Call, frame: Frame) -> Value | None:
    """The batch that `.to(device)`, `.cuda()` or `.type(torch.cuda.FloatTensor)` copies from the host, or None."""
    if not isinstance(node.func, ast.Attribute) or node.func.attr not in ("to", "cuda", "type"):
        return None
    if node.func.attr == "type" and not (node.args and is_cuda_type(values, node.args[0], frame)):
        return None
    if node.func.attr == "to" and target_device(values, node, frame) != DEVICE:
        return None
    if is_for_others(values, node.func.value, frame):
        return None
    value = values.of(node.func.value, frame)
    if value.kind == "batch" and value.device != HOST and runs_without_preparing(values, frame):
        return value._replace(device=HOST).weaker(Confidence.LIKELY)
    if is_host_batch(value):
        return value
    return batch_of_a_caller(values, node.func.value, frame) if value.device != DEVICE else None


def is_host_batch(value: Value) -> bool:
    """Whether a value is a batch on the host.

    A parameter that is annotated as a tensor is one part of the batch that callers pass: its loader is known.
    """
    return value.device == HOST and (value.kind == "batch" or (value.kind == "tensor" and bool(value.origins)))


def loaders_of(project: Project) -> Loaders:
    """What a project does with its loaders; worked out once."""
    return project.once(_worked_out)


def _worked_out(project: Project) -> Loaders:
    return Loaders(project.values)


class Loaders:
    """What the project does with its loaders."""

    def __init__(self, values: Values) -> None:
        self.values = values
        self.index = values.index
        self.hotness = values.hotness
        self._together = Together(values.index, lambda: values.hotness.callers)
        self._uses: dict[str, dict[Origin, list[LoaderUse]]] = {}
        self._copies: dict[str, dict[Origin, list[BatchCopy]]] = {}

    def uses(self, origin: Origin) -> list[LoaderUse]:
        """The hot loops over the loader made at `origin`."""
        return self._in_loops(origin) or self._handed_to_framework(origin) or self._handed_out(origin)

    def _in_loops(self, origin: Origin) -> list[LoaderUse]:
        files = self._together.with_file(origin[0])
        return [use for path in files for use in self._uses_in(path).get(origin, ())]

    def _handed_to_framework(self, origin: Origin) -> list[LoaderUse]:
        """Lightning iterates what `train_dataloader` returns."""
        path, line, column = origin
        outline = self.index.outlines[path]
        function = outline.functions[outline.regions[self.hotness.innermost(path, (line, column))].function]
        kind = {"train_dataloader": "step", "val_dataloader": "eval", "test_dataloader": "eval"}.get(function.name)
        if kind is None or function.class_index < 0:
            return []
        because = f"the trainer iterates what `{function.qualname}` ({path}:{function.header_line}) returns"
        when = "every training step" if kind == "step" else "every evaluation batch"
        return [
            LoaderUse(
                path, function.header_line, Hot(kind, because, when, Confidence.CERTAIN, path, function.header_line)
            )
        ]

    def _handed_out(self, origin: Origin) -> list[LoaderUse]:
        """Somebody else's loop trains on what a factory returns."""
        hot = handed_out(self.values, *origin)
        return [LoaderUse(hot.path, hot.line, hot)] if hot is not None else []

    def copies(self, origin: Origin) -> list[BatchCopy]:
        """The hot copies of its batches."""
        files = self._together.with_file(origin[0])
        return [copy for path in files for copy in self.copies_in(path).get(origin, ())]

    def asynchronous(self, origin: Origin) -> list[BatchCopy]:
        """The hot copies that are asked not to wait, of batches of whichever loader, where this one's may get to."""
        files = self._together.with_file(origin[0])
        copies = {copy for path in files for found in self.copies_in(path).values() for copy in found}
        return sorted((copy for copy in copies if not copy.blocking), key=lambda copy: copy[:3])

    def _uses_in(self, path: str) -> dict[Origin, list[LoaderUse]]:
        if path not in self._uses:
            self._uses[path] = _by_origin(self._find_uses(path))
        return self._uses[path]

    def _find_uses(self, path: str) -> Iterator[tuple[Origin, LoaderUse]]:
        for region_index, region in enumerate(self.index.outlines[path].regions):
            if region.kind != "loop" or not region.iterable:
                continue
            hot = self.hotness.of_region(path, region_index)
            if hot is None or self.hotness.loop_at(path, region_index) is None:
                continue
            for origin in self._iterated(path, region.function, region.head):
                yield origin, LoaderUse(path, region.head, hot)
        for use, origins in self._taken(path):
            for origin in origins:
                yield origin, use

    def _taken(self, path: str) -> Iterator[tuple[LoaderUse, tuple[Origin, ...]]]:
        """The hot calls of `next` that take a batch, as old code's `batches.next()` does."""
        for call in self.index.outlines[path].calls:
            hot = self.hotness.of_region(path, call.region) if last_part(call.callee) in _TAKES else None
            body = self.values.body(path) if hot is not None else None
            node = body.node_of(call) if body is not None else None
            if node is not None and hot is not None:
                batch = self.values.of(node, Frame(path, call.function, (call.line, call.column)))
                yield LoaderUse(path, call.line, hot), batch.origins if batch.kind == "batch" else ()

    def _iterated(self, path: str, function: int, line: int) -> tuple[Origin, ...]:
        body = self.values.body(path)
        node = body.loop_iterable(function, line) if body is not None else None
        if node is None or body is None:
            return ()
        frame = Frame(path, function, body.at(node))
        found = over_loaders(self.values, self.values.of(node, frame), frame)
        return tuple(o for batch in found or handed_through(self.values, node, frame) for o in batch.origins)

    def copies_in(self, path: str) -> dict[Origin, list[BatchCopy]]:
        """Of one file the hot copies of batches, by the loaders these come from."""
        if path not in self._copies:
            self._copies[path] = _by_origin(self._find_copies(path))
        return self._copies[path]

    def _find_copies(self, path: str) -> Iterator[tuple[Origin, BatchCopy]]:
        for call in self.index.outlines[path].calls:
            if last_part(call.callee) not in ("to", "cuda") or "." not in call.callee:
                continue
            hot = self.hotness.of_region(path, call.region)
            body = self.values.body(path) if hot is not None else None
            node = body.node_of(call) if body is not None else None
            if node is None or hot is None:
                continue
            value = batch_copy(self.values, node, Frame(path, call.function, (call.line, call.column)))
            for origin in value.origins if value is not None else ():
                yield origin, BatchCopy(path, call.line, call.column, is_blocking(node), hot)


def _by_origin(found: Iterable[tuple[Origin, T]]) -> dict[Origin, list[T]]:
    table: dict[Origin, list[T]] = {}
    for origin, one in found:
        table.setdefault(origin, []).append(one)
    return table
