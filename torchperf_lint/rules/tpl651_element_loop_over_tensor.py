"""TPL651."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from typing import cast

from torchperf_lint.confirming import happened, unmeasured
from torchperf_lint.evidence import Evidence
from torchperf_lint.facts.element_loops.added_up import adds_up
from torchperf_lint.facts.element_loops.copied_one_by_one import CopiedOneByOne, copied_one_by_one
from torchperf_lint.facts.element_loops.counted_up import CountedUp, counted_up
from torchperf_lint.facts.element_loops.elements import LOOPS, ElementLoop, element_loop
from torchperf_lint.facts.element_loops.multiplied_one_by_one import MultipliedOneByOne, multiplied_one_by_one
from torchperf_lint.facts.element_loops.nms_per_class import PerClass, nms_per_class
from torchperf_lint.facts.element_loops.running_sums import running_sum
from torchperf_lint.facts.element_loops.segment_loops import SegmentLoop, segment_loops
from torchperf_lint.facts.element_loops.shifted_slices import ShiftedSlices, shifted_slices
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.files.spots import Spot, hot_nodes
from torchperf_lint.facts.hotness.hot import Hot
from torchperf_lint.facts.models.per_sample import per_sample_calls
from torchperf_lint.facts.reads.taken_apart import TakenApart, taken_apart
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.syntax import nodes_of
from torchperf_lint.model import Confidence, Finding, Location, Outcome, Severity, Verdict
from torchperf_lint.rates import rate_of
from torchperf_lint.recorded import Event
from torchperf_lint.rule import SourceRule

_SEVERAL = 2.0
"""Times a step from which on a line stands for several turns."""


class ElementLoopOverTensor(SourceRule):
    """A Python loop over the elements of a device tensor in code that runs every step.

    ## What it does
    Flags `for i in range(x.size(0))` with `x[i]` in its body, or in a function that it gives `x` and `i`,
    `for row in x`, comprehensions of these shapes, and `for i in range(n)` that fills `out = torch.zeros(n)` by
    `out[i] = ...`, where the loop stands in hot code and its turns do a few operations on the element; and loops over
    ranges that only put one number in, `mask[:, i, j] = 1`, which slices do at once. Where a turn runs a module, needs
    the turn before it, or works on elements of different lengths, it is only `possible`; where it goes over no more
    than a border, `range(min(len(x), n))`, it is reported as info. Also flags Python's `sum` of
    one tensor, which walks over its elements (what asks each of them, `max(lengths)`, is told as TPL102); and
    `counts[i] += n` of a number that the host has, in a loop over something the host has; and loops that only copy,
    `out[..., i] = x[..., j]`, at places that the host lists, or multiply two elements there; and volumes that are
    filled slice by slice with shifted tensors, `cost[:, :, i, :, i:] = x[..., i:]`; and loops that take sums or means
    of rows between two places, `x[start:end].mean(0)`, or of those that each of a list of index tensors chooses,
    `x[rows].mean(0)`; and loops over classes that suppress each one's overlapping boxes, as info.

    ## Why it is slow
    Each turn starts at least one kernel an operation, and each launch costs the host some microseconds, however
    small the element is. One operation on the whole tensor starts one kernel. A turn that reads a number also waits
    for the device.

    ## Example
    ```python
    import torch
    from torch import nn

    def train(model: nn.Module, loader, optimizer, device):
        for x, y in loader:
            x, y = x.to(device, non_blocking=True), y.to(device, non_blocking=True)
            p = model(x).softmax(1)
            loss = torch.zeros((), device=device)
            for c in range(p.shape[1]):
                overlap = (p[:, c] * y[:, c]).sum()
                loss = loss + 1 - 2 * overlap / (p[:, c].sum() + y[:, c].sum())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    ```

    ## Use instead
    ```python
    import torch
    from torch import nn

    def train(model: nn.Module, loader, optimizer, device):
        for x, y in loader:
            x, y = x.to(device, non_blocking=True), y.to(device, non_blocking=True)
            p = model(x).softmax(1)
            dims = (0, 2, 3)
            overlap = (p * y).sum(dims)
            loss = (1 - 2 * overlap / (p.sum(dims) + y.sum(dims))).sum()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    ```

    ## When it is fine
    Over layers, heads and other handfuls, and over lists of tensors of different shapes:
    ```python
    import torch
    from torch import nn

    class Stack(nn.Module):
        def __init__(self, width: int, depth: int):
            super().__init__()
            self.layers = nn.ModuleList(nn.Linear(width, width) for _ in range(depth))

        def forward(self, x: torch.Tensor):
            for layer in self.layers:
                x = x + layer(x)
            return x
    ```

    ## Fix safety
    There is no automatic fix: the batched form depends on what the turns do.

    ## Confirmed by
    Synchronisations or copies in the body of the loop, several a step. No probe counts kernels, so a loop whose turns
    neither wait nor copy is left open.

    ## References
    - torch.profiler, ForLoopIndexingPattern.
    - PyTorch documentation of `torch.vmap`; NumPy's rules of broadcasting.
    """

    code, name, since = "TPL651", "element-loop-over-tensor", "0.1.0"
    triggers = (" in range(", " in ", "sum(")
    about_waits = True

    def check(self, file: SourceFile, project: Project) -> Iterator[Finding]:
        """Yield a finding for each hot loop over the elements of a tensor."""
        del project
        told: set[ast.AST] = set()
        by_sample = {called.loop for called in per_sample_calls(file)}  # TPL653 says it
        for spot in hot_nodes(file, *LOOPS):
            if spot.hot.kind == "data":
                continue
            found = element_loop(file, spot)
            if found is None or any(outer in told for outer in _around(file, spot)):
                continue
            if found.doubt is None:
                told.add(spot.expression)
            elif spot.expression in by_sample:
                continue
            yield self._found(file, spot, found)
        for walk in taken_apart(file):
            if not walk.reads:
                yield self._taken_apart(file, walk)
        for found_up in counted_up(file):
            if not any(outer in told for outer in _around(file, found_up.spot)):
                yield self._counted_up(file, found_up)
        yield from self._of_places(file, told)
        for by_class in nms_per_class(file) if file.mentions(("nms",)) else ():
            yield self._suppressed(file, by_class)
        yield from self._of_slices(file, told)

    def confirm(self, finding: Finding, run: Evidence) -> Verdict:
        """By what the turns of the loop wait for or copy, where one line does so several times a step."""
        loop = finding.loop
        for kind, what in (("sync", "synchronisation"), ("copy", "copy")):
            seen = () if loop is None else tuple(e for e in run.at(loop, kind) if _in_body(e, loop))
            if seen and _many_at_a_line(seen, run):
                verdict = happened(run, seen, what, finding.location)
                if verdict.outcome is Outcome.CONFIRMED:
                    return replace(verdict, reason=f"its turns wait or copy: {verdict.reason}")
        return unmeasured(run, finding.location, "no probe counts the kernels of its turns")

    def _of_places(self, file: SourceFile, told: set[ast.AST]) -> Iterator[Finding]:
        """Loops that copy or multiply single elements at places of the host, where no loop around is told."""
        for copied in copied_one_by_one(file):
            if copied.spot.expression not in told and not any(outer in told for outer in _around(file, copied.spot)):
                yield self._copied(file, copied)
        for product in multiplied_one_by_one(file):
            if not any(outer in told for outer in _around(file, product.spot)):
                yield self._multiplied(file, product)

    def _of_slices(self, file: SourceFile, told: set[ast.AST]) -> Iterator[Finding]:
        """Loops over slices of a tensor, where no loop around is told."""
        for shifted in shifted_slices(file) if file.mentions((" in range(",)) else ():
            if not any(outer in told for outer in _around(file, shifted.spot)):
                yield self._shifted(file, shifted)
        for segments in segment_loops(file):
            if not any(outer in told for outer in _around(file, segments.spot)):
                yield self._by_segment(file, segments)

    def _found(self, file: SourceFile, spot: Spot, found: ElementLoop) -> Finding:
        doubtful = found.doubt is not None or spot.hot.optional
        mild = doubtful or spot.hot.kind == "eval" or found.border
        each = "kernels" if not found.reads else "kernels, and waits for the device,"
        return self.found(
            spot.at(found.iterated),
            loop=spot.expression,
            message=f"the loop starts {each} for each element of `{file.brief(found.tensor)}` {spot.hot.when}",
            instead=_instead(file, found, spot),
            value=found.value,
            hot=spot.hot,
            severity=Severity.INFO if mild else None,
            confidence=Confidence.POSSIBLE if doubtful else None,
        )

    def _taken_apart(self, file: SourceFile, walk: TakenApart) -> Finding:
        hot = walk.site.hot
        assert hot is not None
        return self.found(
            walk.site,
            message=f"`{file.brief(walk.site.call)}` takes the tensor apart and starts a kernel for each element "
            f"{hot.when}",
            instead=walk.instead,
            value=walk.value,
            hot=hot,
            severity=_severity(hot),
            confidence=Confidence.POSSIBLE if hot.optional else None,
        )

    def _counted_up(self, file: SourceFile, found: CountedUp) -> Finding:
        hot, whole = found.spot.hot, file.brief(found.tensor)
        return self.found(
            found.spot,
            message=f"a number is added to one element of `{whole}` in each turn of the loop on line {found.line}, "
            f"with kernels of its own, {hot.when}",
            instead=f"count in a Python list, add it once: `{whole} += torch.tensor(counts, device={whole}.device)`",
            value=found.value,
            hot=hot,
            severity=_severity(hot),
            confidence=Confidence.POSSIBLE if hot.optional else None,
        )

    def _copied(self, file: SourceFile, found: CopiedOneByOne) -> Finding:
        hot, loop = found.spot.hot, found.spot.expression
        into, whole = file.brief(found.into), file.brief(found.whole)
        assert isinstance(loop, ast.For)
        return self.found(
            found.spot.at(loop.iter),
            loop=loop,
            message=f"the loop copies `{whole}` into `{into}` element by element, with kernels for each, {hot.when}",
            instead="copy all of them at once: hold the places as tensors that were moved to the device once (buffers) "
            f"and write `{into}[..., places] = {whole}[..., other]`, each on the axis that the loop indexes",
            value=found.value,
            hot=hot,
            severity=_severity(hot),
            confidence=Confidence.POSSIBLE if hot.optional else None,
        )

    def _multiplied(self, file: SourceFile, found: MultipliedOneByOne) -> Finding:
        hot, loop, into = found.spot.hot, found.spot.expression, file.brief(found.into)
        assert isinstance(loop, ast.For)
        both = " and ".join(f"`{file.brief(whole)}`" for whole in found.wholes)
        return self.found(
            found.spot.at(loop.iter),
            message=f"the loop multiplies elements of {both} one by one into `{into}`, with kernels for each, "
            f"{hot.when}",
            instead="multiply all of them at once: give the axis that the loop indexes a letter of its own, "
            f"`torch.einsum({found.batched}, ...)`, and hold the places as an index tensor on the device",
            value=found.value,
            hot=hot,
            severity=_severity(hot),
            confidence=Confidence.POSSIBLE if hot.optional else Confidence.LIKELY,
        )

    def _suppressed(self, file: SourceFile, found: PerClass) -> Finding:
        hot, loop = found.spot.hot, found.spot.expression
        assert isinstance(loop, ast.For)
        return self.found(
            found.spot.at(loop.iter),
            loop=loop,
            message=f"`{file.brief(found.call)}` runs for each class, with kernels and waits of its own, {hot.when}",
            instead="keep the classes apart in one run: `torchvision.ops.batched_nms(boxes, scores, classes, "
            "threshold)`; boxes that it does not take are first moved, those of each class out of reach of the others",
            value=found.value,
            hot=hot,
            severity=Severity.INFO,
            confidence=Confidence.POSSIBLE if hot.optional or hot.kind in ("eval", "rollout") else None,
        )

    def _shifted(self, file: SourceFile, found: ShiftedSlices) -> Finding:
        hot, whole = found.spot.hot, file.brief(found.whole)
        return self.found(
            found.spot,
            loop=found.spot.expression,
            message=f"the loop writes shifted slices into `{whole}` one by one, with kernels for each, and for each "
            f"the backward pass copies the gradient of all of `{whole}`, {hot.when}",
            instead="hold all shifts in one view, `F.pad(x, (n - 1, 0)).unfold(-1, x.size(-1), 1)` (the largest shift "
            "first); or gather the slices in a list and `torch.stack` them once",
            value=found.value,
            hot=hot,
            severity=_severity(hot),
            confidence=Confidence.POSSIBLE if hot.optional else None,
        )

    def _by_segment(self, file: SourceFile, found: SegmentLoop) -> Finding:
        hot, whole = found.spot.hot, file.brief(found.whole)
        divided = ", divided by their lengths for a mean" if found.reduction == "mean" else ""
        rows = f"{whole}[rows]" if found.groups is not None else whole
        joined = f", `rows` all of `{file.brief(found.groups)}` joined," if found.groups is not None else ","
        return self.found(
            found.spot,
            loop=found.spot.expression,
            message=f"each turn of the loop reduces some rows of `{whole}`, with kernels of its own, {hot.when}",
            instead=f"add up all segments at once{divided}: `{whole}.new_zeros(n, {whole}.size(1)).index_add_(0, "
            f"segment, {rows})`{joined} with a number for each row in `segment`, which `repeat_interleave` of the "
            "lengths makes beside the batch",
            value=found.value,
            hot=hot,
            severity=_severity(hot),
            confidence=Confidence.POSSIBLE if hot.optional else None,
        )


def _in_body(event: Event, loop: Location) -> bool:
    """Whether it is of the turns and not of what the loop goes over, where lines tell these apart."""
    line = event.line if event.via is None or event.path == loop.path else event.via[1]
    return line > loop.line or loop.line == loop.end_line


def _many_at_a_line(events: tuple[Event, ...], run: Evidence) -> bool:
    """Whether one line does it twice a step or more: so do turns, and not the line that a single turn has."""
    places: dict[object, list[Event]] = {}
    for event in events:
        places.setdefault((event.path, event.line, event.via), []).append(event)
    rates = (rate_of(here, run) for here in places.values())
    return any(rate is not None and rate[0] >= _SEVERAL for rate in rates)


def _severity(hot: Hot) -> Severity | None:
    return Severity.INFO if hot.optional or hot.kind == "eval" else None


def _around(file: SourceFile, spot: Spot) -> Iterator[ast.AST]:
    """What a loop stands in."""
    parents, node = file.enclosing(spot.function).parents, cast("ast.AST", spot.expression)
    while node in parents:
        node = parents[node]
        yield node


_FOR_ALL_ROWS = {
    "histc": "count for all rows at once: `one_hot(x, n).sum(1)`, or `scatter_add_` into a matrix of zeros",
    "randperm": "draw for all rows at once: `torch.rand(rows, n, device=x.device).argsort(1)` holds an order in each",
    "multinomial": "draw for all rows at once: `torch.multinomial` takes a matrix",
}
"""What takes the place of calls that give numbers for one row."""


def _at_once(loop: ast.expr | ast.stmt) -> str | None:
    """What makes a tensor of counts, or of the numbers of the turns, in one kernel."""
    filled = loop.body[0] if isinstance(loop, ast.For) and len(loop.body) == 1 else None
    if not isinstance(loop, ast.For) or not isinstance(filled, ast.Assign):
        return None
    made, turn = filled.value, chain(loop.target)
    if isinstance(made, ast.Name) and made.id == turn:
        return "number them at once: `torch.arange(n, device=x.device).view(-1, 1, 1).expand(...)`"
    counted = made.func.value if isinstance(made, ast.Call) and isinstance(made.func, ast.Attribute) else None
    if last_part(chain(getattr(made, "func", made))) != "sum" or not isinstance(counted, ast.Compare):
        return None
    sides = [counted.left, *counted.comparators]
    equal = len(sides) == 2 and isinstance(counted.ops[0], ast.Eq) and any(chain(side) == turn for side in sides)
    return "count all at once: `torch.bincount(index, minlength=n)`" if equal else None


def _instead(file: SourceFile, found: ElementLoop, spot: Spot) -> str:
    called = (last_part(chain(n.func)) for n in nodes_of(spot.expression) if isinstance(n, ast.Call))
    of_rows = next((_FOR_ALL_ROWS[name] for name in called if name in _FOR_ALL_ROWS), None)
    if of_rows is not None and found.doubt is None:
        return of_rows
    at_once = _at_once(spot.expression)
    if at_once is not None:
        return at_once
    whole = file.brief(found.tensor)
    if found.fills:
        return f"put the number in with slices, which one kernel does: `{whole}[..., start:end:step] = ...`"
    if found.doubt is not None:
        return f"where it can be done at once, work on `{whole}` whole (here: {found.doubt})"
    summed = running_sum(spot.expression)
    if summed is not None:
        return f"`torch.{summed[1]}({whole}, 0)` gives all of these at once"
    if adds_up(spot.expression):
        return f"take what all turns take of `{whole}` at once, by slices (`x[1:]` for `x[t + 1]`), and sum it once"
    return (
        f"work on `{whole}` whole: elementwise operations broadcast, reductions take `dim=`, and `torch.vmap` "
        "batches a function of one element"
    )
