"""TPL111."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import replace

from torchperf_lint.amounts import often
from torchperf_lint.confirming import by_events, copies
from torchperf_lint.evidence import Evidence
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.indexing.also_copied import also_copied
from torchperf_lint.facts.indexing.boolean_indices import boolean_index, fills_in_a_number, is_flat, is_one_of_several
from torchperf_lint.facts.indexing.host_indices import HostIndex, host_indices
from torchperf_lint.facts.indexing.number_stores import NumberStore, number_stores
from torchperf_lint.facts.syntax.expressions_written import of_part
from torchperf_lint.facts.values.value import Value
from torchperf_lint.model import Confidence, Finding, Location, Outcome, Related, Severity, Verdict
from torchperf_lint.nearest import nearest
from torchperf_lint.rates import rate_of
from torchperf_lint.recorded import Event
from torchperf_lint.rule import SourceRule
from torchperf_lint.waits import OF_INDEX


class HostIndexIntoDeviceTensor(SourceRule):
    """A tensor on the device, indexed by what lies in host memory, in code that runs every step.

    ## What it does
    Flags `x[torch.arange(n), labels]`, `x[torch.randperm(n)]` and their like, where the index is made on the host and
    `x` is on the device, and `x[:, [i]]`, `x[[2, 0, 1]]`, where it is a list of one number or of numbers that no step
    changes, `x[:, [0] * n]` too; on lines that run every training step or forward pass. Also `x[range(n), labels]`, a
    list or array that an object was given once (`x[:, self.kept]`), a row of a table of lists
    (`x[..., self.planes[0]]`), a list that a configuration holds (`x[..., self.config.target_indices]`), a mask of
    lengths that were copied for `pack_padded_sequence`, an index that a module keeps as a plain attribute, which stays
    in host memory when the module moves, what torch made on the host some lines before, a numpy array or a tensor of
    the host's data that picks from several tensors, batches of a loader over plain numbers, `DataLoader(range(n))`,
    lists of counted numbers (`x[:, [j for j in range(n) if j != i]]`), and lists that index in each turn of a loop
    inside the step. Of constants, `torch.tensor([2, 1, 0])`, lists at the top of a module among them, of what torch
    computes on the host from factories alone, `torch.rand(n).argsort()`, and of what numpy draws of numbers alone,
    `np.random.permutation(n)`, one use is enough, as it is of what was read from the device, `x[top.tolist()]`, or
    converted to a type of the host's, `x[slots.type(torch.LongTensor)]`; a list of the host's own counts where it
    indexes several tensors.

    And a number that is put where an index on the device says, `labels[pos_inds] = 0`: there it is the number that is
    in host memory. What one function stores so is told once, at the first.

    ## Why it is slow
    A list becomes a tensor in host memory; that, and every other index in host memory, is copied to the device from
    pageable memory, and the host waits for the copy. A number that is stored by an index on the device becomes a tensor
    in host memory, too, and is copied. Nothing in the line says so.

    ## Example
    ```python
    import torch
    from torch import nn

    class Margin(nn.Module):
        def __init__(self):
            super().__init__()
            self.proj = nn.Linear(64, 10)

        def forward(self, x: torch.Tensor, labels: torch.Tensor):
            cosine = self.proj(x.to("cuda"))
            return cosine[torch.arange(x.size(0)), labels]
    ```

    ## Use instead
    ```python
    import torch
    from torch import nn

    class Margin(nn.Module):
        def __init__(self):
            super().__init__()
            self.proj = nn.Linear(64, 10)

        def forward(self, x: torch.Tensor, labels: torch.Tensor):
            cosine = self.proj(x.to("cuda"))
            return cosine.gather(1, labels[:, None])[:, 0]
    ```
    Or make the index on the device: `torch.arange(x.size(0), device=cosine.device)`. For a list of one number, take a
    slice: `x[:, i : i + 1]`; for a fixed list, keep a tensor of it in a buffer. An array
    that picks from several tensors is copied once: `rows = torch.from_numpy(rows).to(obs.device)`. In place of a mask
    keep integer indices on the device, made once: `places = mask.nonzero(as_tuple=True)`, `x[places]`. A mask on the
    device would be counted each time, and the host waits for that (TPL109), as it does not for a mask of its own.

    A number is filled in by `labels.index_fill_(0, pos_inds, 0)`, as an argument of the kernel; where several tensors
    pick, `mask[rows, columns] = mask.new_full((), 1.0)` stores what is made on the device.

    ## When it is fine
    Numbers, slices and masks need no copy, and through a mask a number is filled in, `x[x > 0] = 1.0`; lists of numbers
    that come from the host and differ at every step have to cross anyway; and on the host nothing is copied:
    ```python
    import torch
    from torch import nn

    class Pick(nn.Module):
        def __init__(self):
            super().__init__()
            self.proj = nn.Linear(64, 10)

        def forward(self, x: torch.Tensor, kept: list[int]):
            x = self.proj(x.to("cuda"))
            return x[0], x[:, 1:2], x[x > 0], x[kept], torch.zeros(3)[[2, 0, 1]]
    ```

    ## Fix safety
    There is no automatic fix: which of the ways to write it fits only the author knows, and random indices would be
    drawn by another generator.

    ## Confirmed by
    A copy to the device, or a synchronisation, at the index in at least half of the recorded steps. On a simulated
    device also what the backward pass copies again for the index's gradient, told with the finding.

    ## References
    - PyTorch's indexing (`torch/csrc/autograd/python_variable_indexing.cpp`): lists become tensors in host memory.
    - NVIDIA, "Writing sync-free code".
    """

    code, name, since = "TPL111", "host-index-into-device-tensor", "0.1.0"
    triggers = ("[",)
    probes = ("host-sync", "transfers")
    of_gradients = True

    def check(self, file: SourceFile, project: Project) -> Iterator[Finding]:
        """Yield a finding for each hot index in host memory of a tensor on the device."""
        del project
        found = list(host_indices(file))
        for index in found:
            hot = index.spot.hot
            if hot.kind == "data":
                continue
            what = f"`torch.{index.fresh.factory}(...)` fills host memory" if index.fresh else index.source
            yield self.found(
                index.spot,
                message=f"{what}, and indexing copies it to the device {hot.when}",
                instead=_instead(index) + also_copied(index, found),
                value=_value(index),
                hot=hot,
                severity=Severity.INFO,
                confidence=Confidence.POSSIBLE if hot.optional else None,
                related=_made_elsewhere(file, index),
                root_cause=f"{self.code} at {index.of} in function {index.spot.function}",
            )
        for store in number_stores(file):
            yield self._stored(store)

    def _stored(self, store: NumberStore) -> Finding:
        spot = store.spot
        return self.found(
            spot,
            message=f"`{ast.unparse(spot.expression)} = ...` makes a tensor of a number in host memory, and storing by "
            f"an index copies it to the device {spot.hot.when}",
            instead=f"fill the number in without a copy: {store.instead}",
            value=store.base,
            hot=spot.hot,
            severity=Severity.INFO,
            confidence=Confidence.POSSIBLE if spot.hot.optional else None,
            root_cause=f"{self.code} numbers stored in function {spot.function}",
        )

    def confirm(self, finding: Finding, run: Evidence) -> Verdict:
        """By waits and copies to the device at the line, and at the others that index, or store, the same."""
        seen = {id(event): event for place in finding.places for event in _uploads(run, place)}
        verdict = by_events(finding, run, seen.values(), "upload", probes=self.probes)
        again = [] if run.in_gradients(finding, "copy") else self._again_somewhere(run)
        if verdict.outcome is not Outcome.CONFIRMED or not again:
            return verdict
        rate = rate_of(again, run)
        times = f", {often(rate[0])} a {rate[1]} for all such lines" if rate is not None else ""
        return replace(verdict, reason=f"{verdict.reason}; its gradient copies the index again{times}")

    def explained_elsewhere(self, run: Evidence) -> tuple[Event, ...]:
        """What backward passes copy again of lines that nobody knows; only the simulated device tells."""
        return tuple(event for event in run.events if event.attributes.get(OF_INDEX) and event.origin is None)

    def _again_somewhere(self, run: Evidence) -> list[Event]:
        return [event for event in self.explained_elsewhere(run) if event.kind == "copy"]


def _uploads(run: Evidence, place: Location) -> Sequence[Event]:
    return nearest(run.at(place, "sync") or copies(run, place, "h2d", lambda copy: True), place)


def _value(index: HostIndex) -> Value:
    if index.held is not None:
        return index.held.value
    return index.fresh.value if index.fresh is not None else index.base


def _made_elsewhere(file: SourceFile, index: HostIndex) -> list[Related]:
    """Where the index is made, when that is not the line that uses it."""
    fresh, held = index.fresh, index.held
    if held is not None:
        return [file.related(held.path, held.line, 1, f"`self.{held.name}` is set to a tensor on the host")]
    if fresh is None or (fresh.path == file.path and fresh.call.lineno == index.spot.expression.lineno):
        return []
    body = file.project.body(fresh.path)
    assert body is not None
    return [file.related(fresh.path, *body.at(fresh.call), f"`torch.{fresh.factory}` makes it on the host")]


def _instead(index: HostIndex) -> str:
    if isinstance(index.spot.expression, ast.Compare):
        return f"keep the places that are set as indices on the device, or take slices and join them: {_COUNTED}"
    mask = _mask(index)
    if mask is not None:
        moved = " (buffers, of a module that is moved as well)" if index.held is not None else ""
        places = f"places = {of_part(mask, 'nonzero')}(as_tuple=True)"
        if not is_one_of_several(index.spot, mask):
            copied, used = "each copied", "`x[places]`"
        elif is_flat(index.spot, index.fresh.call if index.fresh is not None else None, index.held):
            places, copied, used = f"{places}[0]", "copied", "`places` where the mask stands"
        else:
            copied, used = "each copied", "all of them, one for each dimension of the mask, where the mask stands"
        return (
            f"keep integer indices in place of the mask, made once: `{places}`, {copied} to the device{moved}, and "
            f"{used}: {_COUNTED}"
        )
    if index.fresh is not None:
        made = f"make it on the device: `torch.{index.fresh.factory}(..., device={index.device})`"
        return made + (" (the device's generator gives other random numbers)" if index.fresh.random else "")
    node = index.spot.expression
    taken = _slice(node) if isinstance(node, ast.List) and not _is_paired(index) else None
    if taken is not None:
        return f"take a slice, which needs no copy: `{taken}`"
    if index.instead:
        return index.instead
    if _is_paired(index):
        return "keep both lists on the device, as buffers of the module: they pick element by element, as no slices do"
    return "keep it on the device: a buffer of the module, or slices and `torch.stack` of what they give"


_COUNTED = "a mask on the device would be counted there, for which the host waits"


def _mask(index: HostIndex) -> ast.expr | None:
    """The mask through which elements are taken, or tensors stored; None for other indices."""
    made = index.fresh.call if index.fresh is not None else None
    if made is None and index.held is None and ".to(" not in index.instead:
        return None  # a list, lengths: its source says what to write
    return boolean_index(index.spot, made, index.held) if not fills_in_a_number(index.spot) else None


def _is_paired(index: HostIndex) -> bool:
    """Whether a list stands beside another, `x[:, [0, 1], [0, 1]]`: they pick element by element, as no slices do."""
    parent = index.spot.file.enclosing(index.spot.function).parents.get(index.spot.expression)
    return isinstance(parent, ast.Tuple) and sum(isinstance(part, ast.List) for part in parent.elts) > 1


def _slice(node: ast.List) -> str | None:
    """The slice that takes what a list of one number, or of consecutive ones, takes: `-1:`, `2:4`; None for others."""
    if len(node.elts) == 1 and not _is_number(node.elts[0]):
        name = ast.unparse(node.elts[0])
        return f"{name}:{name} + 1"
    if not node.elts or not all(map(_is_number, node.elts)):
        return None
    numbers = [ast.literal_eval(element) for element in node.elts]
    first, last = numbers[0], numbers[-1]
    if numbers != list(range(first, last + 1)) or first < 0 <= last:
        return None
    return f"{first}:" if last == -1 else f"{first}:{last + 1}"


def _is_number(node: ast.expr) -> bool:
    """Whether an index is written out: `2`, `-1`."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        node = node.operand
    return isinstance(node, ast.Constant) and type(node.value) is int
