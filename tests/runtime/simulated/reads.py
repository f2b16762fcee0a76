"""Runs a script on the host, not simulated, and counts by line the values read from tensors: reads.py OUT SCRIPT."""

from __future__ import annotations

import functools
import json
import runpy
import sys
import tempfile
from collections import Counter
from pathlib import Path

import torch

from torchperf_lint.runtime.sites import Sites

READERS = ("item", "__bool__", "__float__", "__int__", "__index__", "is_nonzero")


def watch(sites: Sites, counts: Counter) -> None:
    """Count at each call of a reading method the line that called it."""
    for name in READERS:
        original = getattr(torch.Tensor, name)

        @functools.wraps(original)
        def reader(self, *args, _original=original):
            counts[sites.key(2)] += 1
            return _original(self, *args)

        setattr(torch.Tensor, name, reader)


def main() -> None:
    out, script = Path(sys.argv[1]), Path(sys.argv[2])
    counts: Counter = Counter()
    sites = Sites(str(script.parent), str(script.parent))
    watch(sites, counts)
    text = script.read_text(encoding="utf-8").replace('accelerator="gpu"', 'accelerator="cpu"')
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / script.name
        copy.write_text(text, encoding="utf-8")
        sys.argv = [str(copy)]
        runpy.run_path(str(copy), run_name="__main__")
    places = [(sites.resolve(key).place, count) for key, count in counts.items() if key is not None]
    out.write_text(json.dumps([[place.path, place.line, count] for place, count in places]), encoding="utf-8")


if __name__ == "__main__":
    main()
