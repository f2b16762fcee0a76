"""Evaluates every row of the operations table on the simulated device: measure.py OUT."""

from __future__ import annotations

import copy
import json
import math
import sys
import traceback
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import torch
from operations import SILENT, UNMEASURED, WAITS

from torchperf_lint.runtime import simulated


class Count:
    """Counts events; a blocking copy's own sync is implied by the copy, and checked to come right after it."""

    def __init__(self) -> None:
        self.events: Counter[str] = Counter()
        self.pending = False
        self.disorder: list[str] = []

    def sync(self, what: str) -> None:
        if what == "copy":
            if not self.pending:
                self.disorder.append("a sync of a copy without the copy")
            self.pending = False
            return
        self.events[what] += 1

    def copy(self, direction: str, nbytes: int, pinned: bool, blocking: bool) -> None:
        if self.pending:
            self.disorder.append("a blocking copy without its sync")
        self.pending = blocking
        self.events[direction + ("" if blocking else "-async") + ("-pinned" if pinned else "")] += 1

    def unsupported(self, what: str) -> None:
        self.events[f"unsupported: {what}"] += 1


def assign(x: torch.Tensor, index: Any, value: Any) -> torch.Tensor:
    x[index] = value
    return x


def pinned_like(x: torch.Tensor) -> torch.Tensor:
    return torch.empty(x.shape, pin_memory=True)


def graded(module: torch.nn.Module) -> list[torch.Tensor]:
    for parameter in module.parameters():
        parameter.grad = torch.ones_like(parameter)
    return list(module.parameters())


def names(device: str) -> dict[str, Any]:
    """Fresh values of the names that rows use."""
    generator = torch.Generator().manual_seed(6)
    h = torch.randn(4, 6, generator=generator)
    torch.manual_seed(8)
    w = torch.nn.Linear(6, 3)
    square = torch.randn(3, 3, generator=generator) + 3 * torch.eye(3)
    on = {"x": h.clone(), "y": torch.tensor([1, 2, 1, 2]), "m": torch.tensor([True, False, True, True])}
    on |= {"s": torch.tensor(1.5), "n": torch.tensor(2), "square": square, "eye": torch.eye(3)}
    values: dict[str, Any] = {name: value.to(device) for name, value in on.items()}
    values |= {"h": h, "p": h.pin_memory(), "e": torch.empty(0), "w": w.to(device), "d": device}
    return values | {"cuda": torch.cuda, "assign": assign, "graded": graded, "pinned_like": pinned_like}


def plain(value: Any) -> Any:
    """A value that JSON has, rounded; None for what cannot be compared."""
    if isinstance(value, torch.Tensor):
        value = value.detach().cpu()
        return plain((torch.view_as_real(value) if value.is_complex() else value).double().tolist())
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, float):
        return round(value, 4)
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value if isinstance(value, int | str) else None


def evaluate(expression: str, device: str, count: Count) -> dict[str, Any]:
    """The events of one row, and its value."""
    scope = {"torch": torch, "np": np, "math": math, "copy": copy, **names(device)}
    count.events.clear()
    count.disorder.clear()
    try:
        value = eval(expression, scope)
    except Exception:  # noqa: BLE001
        return {"error": traceback.format_exc(limit=-3)}
    return {"events": dict(count.events), "disorder": list(count.disorder), "value": plain(value)}


def main() -> None:
    count = Count()
    simulated.install(count)
    rows = {}
    for expression in (*WAITS, *UNMEASURED, *SILENT):
        rows[expression] = {device: evaluate(expression, device, count) for device in ("cuda", "cpu")}
    Path(sys.argv[1]).write_text(json.dumps(rows), encoding="utf-8")


if __name__ == "__main__":
    main()
