"""Batches that a function of a library copies to the device: `batch = send_to_device(batch, device=device)`.

It hands `non_blocking` on to each of its copies, and takes none for False.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchperf_lint.facts.devices.blocking import is_blocking
from torchperf_lint.facts.devices.devices import device_of
from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.loaders.loaders import is_host_batch
from torchperf_lint.facts.values.value import DEVICE, Value

_FUNCTIONS = ("accelerate.utils.send_to_device", "accelerate.utils.operations.send_to_device")
_GIVEN, _THERE = "tensor", "device"
"""Its first two parameters."""


def sent_by_function(file: SourceFile) -> Iterator[tuple[Site, Value]]:
    """The hot calls of such a function that copy a batch from the host and wait for it, with the batch."""
    for site in file.calls_of(*_FUNCTIONS):
        if site.hot is None or not is_blocking(site.call) or any(isinstance(a, ast.Starred) for a in site.call.args):
            continue
        given, there = (_argument(site.call, n, name) for n, name in enumerate((_GIVEN, _THERE)))
        if given is None or there is None or device_of(file.project.values, there, site.frame) != DEVICE:
            continue
        batch = file.value(given, site)
        if is_host_batch(batch):
            yield site, batch


def _argument(call: ast.Call, position: int, name: str) -> ast.expr | None:
    if len(call.args) > position:
        return call.args[position]
    return next((keyword.value for keyword in call.keywords if keyword.arg == name), None)
