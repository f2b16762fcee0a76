"""Runs scripts before and after fixing: their numbers, and what they did to a simulated device.

`python tests/fix_runs.py IN OUT` runs every pair of IN there, for a torch on which a device is simulated stays so.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import torch
from torch.utils.data import DataLoader


class Count:
    """Events by kind; a blocking copy's own wait is not counted twice."""

    def __init__(self) -> None:
        self.events: Counter[str] = Counter()

    def sync(self, what: str) -> None:
        self.events["sync"] += what != "copy"

    def copy(self, direction: str, nbytes: int, pinned: bool, blocking: bool) -> None:
        del nbytes, pinned
        self.events[direction] += 1
        if blocking:
            self.events[f"{direction}-blocking"] += 1

    def unsupported(self, what: str) -> None:
        self.events[f"unsupported: {what}"] += 1


def numbers(text: str) -> list[Any]:
    """What the script's `run()` returns; workers stay at home, where they cost no time."""
    made = DataLoader.__init__

    def at_home(self: Any, *arguments: Any, **keywords: Any) -> None:
        arguments, keywords = (*arguments[:5], *([0] if len(arguments) > 5 else []), *arguments[6:]), dict(keywords)
        if "num_workers" in keywords:
            keywords["num_workers"] = 0
        made(self, *arguments, **keywords)

    scope: dict[str, Any] = {}
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # for a model of a few numbers more threads are only to be waited for
    DataLoader.__init__ = at_home  # type: ignore[method-assign]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(compile(text, "<program>", "exec"), scope)
            return [v.item() if isinstance(v, torch.Tensor) else v for v in scope["run"]()]
    finally:
        torch.set_num_threads(threads)
        DataLoader.__init__ = made  # type: ignore[method-assign]


def main() -> None:
    from torchperf_lint.runtime import simulated

    count = Count()
    simulated.install(count)
    told = []
    for pair in json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")):
        seen = []
        for text in pair:
            count.events.clear()
            seen.append({"numbers": numbers(text), "events": dict(count.events)})
        told.append(seen)
    Path(sys.argv[2]).write_text(json.dumps(told), encoding="utf-8")


if __name__ == "__main__":
    main()
