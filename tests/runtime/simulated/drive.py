"""Runs scripts on the simulated device and writes what happened at each of their lines: drive.py OUT SCRIPT..."""

from __future__ import annotations

import json
import runpy
import sys
import threading
from collections import Counter
from pathlib import Path

from torchperf_lint.runtime import simulated
from torchperf_lint.runtime.sites import Sites


class Tally:
    """Counts by place; a place in an installed package also by the script's line that led there."""

    def __init__(self, root: str) -> None:
        self.sites = Sites(root, root)
        self.events: Counter = Counter()
        self.lock = threading.Lock()

    def note(self, what: str) -> None:
        key = self.sites.key(3)
        with self.lock:
            self.events[key, what] += 1

    def sync(self, what: str) -> None:
        if what != "copy":
            self.note(what)

    def copy(self, direction: str, nbytes: int, pinned: bool, blocking: bool) -> None:
        self.note(direction + ("" if blocking else "-async") + ("-pinned" if pinned else ""))

    def unsupported(self, what: str) -> None:
        self.note("unsupported: " + what)

    def rows(self) -> list[list[object]]:
        rows: list[list[object]] = []
        for (key, what), count in self.events.items():
            site = self.sites.resolve(key) if key is not None else None
            via = site.via.line if site is not None and site.via is not None else None
            rows.append([*(("?", 0) if site is None else (site.place.path, site.place.line)), via, what, count])
        return sorted(rows, key=repr)


def main() -> None:
    out, *scripts = (Path(argument) for argument in sys.argv[1:])
    import torch  # noqa: F401

    tally = Tally(str(scripts[0].parent))
    simulated.install(tally)
    rows = {}
    for script in scripts:
        tally.events.clear()
        sys.argv = [str(script)]
        sys.path[0] = str(script.parent)
        runpy.run_path(str(script), run_name="__main__")
        rows[script.name] = tally.rows()
    out.write_text(json.dumps(rows), encoding="utf-8")


if __name__ == "__main__":
    main()
