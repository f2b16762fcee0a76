"""Calls in compiled functions at which the compiler surely ends its graph.

What ends a graph was tried out with torch 2.13 on the CPU: how many graphs a backend is given for one call.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.processes.compiled_regions import Region, compiled_functions, is_held
from torchperf_lint.facts.syntax.chains import chain, last_part

_TELLS = frozenset(
    "builtins.print builtins.input builtins.open time.time time.perf_counter time.monotonic time.sleep torch.save "
    "logging.info logging.warning logging.debug logging.error".split()
)
_LOGGER = "logging.getLogger()."
_LEVELS = frozenset("debug info warning error critical exception log".split())
_SIZES = frozenset({"nonzero", "argwhere", "masked_select", "unique"})
_NUMBERS = frozenset({"float", "int"})
_CAPTURES = {
    "item": ("capture_scalar_outputs", "CAPTURE_SCALAR_OUTPUTS"),
    "size": ("capture_dynamic_output_shape_ops", "CAPTURE_DYNAMIC_OUTPUT_SHAPE_OPS"),
}


class Break(NamedTuple):
    """A call that ends the compiler's graph."""

    site: Site
    kind: str
    """host, item, size or backward."""
    region: Region


def graph_breaks(file: SourceFile) -> Iterator[Break]:
    """Each call that ends a graph in a function that this file compiles, and in what that calls directly."""
    regions = compiled_functions(file)
    for site in file.calls_among([c for c in file.outline.calls if c.function in regions]):
        kind = _kind(file, site)
        if kind and not is_held(file, site) and not any(word in file.text for word in _CAPTURES.get(kind, ())):
            yield Break(site, kind, regions[site.function])


def _kind(file: SourceFile, site: Site) -> str:
    thing = file.project.types.thing(file.path, site.function, site.record.callee)
    dotted = thing.dotted if thing is not None and thing.kind == "external" else ""
    name = last_part(chain(site.call.func))
    if dotted in _TELLS or (dotted.startswith(_LOGGER) and name in _LEVELS):
        return "host"
    if name in _SIZES and dotted == f"torch.{name}":
        return "size"
    if site.receiver is None:
        one = site.call.args[0] if name in _NUMBERS and len(site.call.args) == 1 else None
        return "item" if one is not None and file.value(one, site).kind == "tensor" else ""
    if file.value(site.receiver, site).kind != "tensor":
        return ""
    if name in ("item", "tolist") and not site.call.args:
        return "item"
    if name == "backward":
        return name
    return "size" if name in _SIZES else ""
