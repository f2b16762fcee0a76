"""Batches of loaders that are used as indices of tensors on the device."""

from __future__ import annotations

import ast

from torchperf_lint.facts.files.spots import Spot
from torchperf_lint.facts.indexing.index_uses import copied_once, used_again
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.values.value import HOST
from torchperf_lint.model import Confidence


def loaded_index(spot: Spot, index: ast.expr) -> tuple[str, str] | None:
    """What a batch is that picks from tensors on the device, `for rows in DataLoader(range(n))`; what to write instead.

    Rows of a data set have to cross once; numbers that only count what lies on the device need not be on the host.
    """
    if not isinstance(index, ast.Name) or not _unpacked_here(spot, index):
        return None  # what callers hand over, one of them may have moved
    value = spot.file.value(index, spot)
    if value.kind != "batch" or value.device != HOST or value.confidence is Confidence.POSSIBLE:
        return None
    if _counts(spot, index):
        return (
            f"the batch `{index.id}` of numbers is host memory",
            "draw and split the numbers on the device, `torch.randperm(n, device={device}).split(batch_size)`; in "
            "order, split the tensors themselves",
        )
    if value.confidence is not Confidence.CERTAIN or not used_again(spot, index):
        return None
    return (
        f"the batch `{index.id}` is host memory",
        copied_once(spot, index, index.id, ", non_blocking=True"),
    )


def _unpacked_here(spot: Spot, index: ast.Name) -> bool:
    """Whether a loop around gets the batch from its loader."""
    loops = spot.file.enclosing(spot.function).loops(index)
    return any(isinstance(n, ast.Name) and n.id == index.id for loop in loops for n in ast.walk(loop.target))


def _counts(spot: Spot, index: ast.Name) -> bool:
    """Whether the loop around goes over a loader of plain numbers: `DataLoader(range(n), batch_size)`."""
    for loop in spot.file.enclosing(spot.function).loops(index):
        bound = isinstance(loop.target, ast.Name) and loop.target.id == index.id
        over = loop.iter
        while bound and isinstance(over, ast.Call) and chain(over.func) in ("tqdm", "enumerate") and over.args:
            over = over.args[0]
        over = _only_value(spot, over) if isinstance(over, ast.Name) else over
        if bound and isinstance(over, ast.Call) and last_part(chain(over.func)) == "DataLoader" and over.args:
            data = over.args[0]
            return isinstance(data, ast.Call) and last_part(chain(data.func)) in ("range", "arange")
    return False


def _only_value(spot: Spot, name: ast.Name) -> ast.expr:
    body = spot.file.project.body(spot.file.path)
    value = body.assigned_once(spot.function, name.id, body.at(name)) if body is not None else None
    return value if value is not None else name
