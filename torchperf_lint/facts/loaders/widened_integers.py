"""Narrow integers that the host widens before they cross the bus.

    class Pictures(Dataset):
        def __getitem__(self, index):
            return image, np.array(label).astype("int32")

    for images, labels in loader:
        labels = labels.long().cuda()

Told by a data set of the project that makes what goes by the same name of a narrow type.
"""

from __future__ import annotations

import ast
from typing import NamedTuple

from torchperf_lint.facts.call_graph.index import Thing
from torchperf_lint.facts.devices.devices import moves_to_device
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.values.value import DEVICE
from torchperf_lint.patterns import pattern

_NARROW = pattern(r"^u?int(?:8|16|32)$")
_DATASETS = ("torch.utils.data.Dataset", "torch.utils.data.dataset.Dataset", "torch.utils.data.IterableDataset")
_TIMES = {"8": "eight times", "16": "four times", "32": "twice"}


class WidenedIntegers(NamedTuple):
    """What a call of `to` or `cuda` copies as integers of eight bytes, though a data set has made narrower ones."""

    made: str
    """The narrow type: `int32`."""
    path: str
    line: int
    """Where it is made."""
    times: str
    """How many times as much crosses the bus, in words."""


def widened_integers(file: SourceFile, site: Site) -> WidenedIntegers | None:
    """The widening on the host before the copy that a call makes; None where there is none for certain."""
    cast = site.receiver
    if not isinstance(cast, ast.Call) or not isinstance(cast.func, ast.Attribute) or cast.func.attr != "long":
        return None
    if not isinstance(cast.func.value, ast.Name) or not moves_to_device(file.project.values, site.call, site.frame):
        return None
    value = file.value(cast.func.value, site)
    if value.device == DEVICE or value.kind in ("module", "plain", "array"):
        return None
    return _made_narrow(file.project, cast.func.value.id.lower().rstrip("s"))


def _made_narrow(project: Project, name: str) -> WidenedIntegers | None:
    """Where the data sets of the project give something of a name a narrow type; None where one of them does not."""
    known: dict[Thing, WidenedIntegers | None] = {}
    for path, outline in sorted(project.index.outlines.items()):
        for number in range(len(outline.classes)):
            thing = Thing("class", path, number)
            if any(base in _DATASETS for base in project.index.external_bases(thing)):
                known |= _about(project, thing, name)
    narrow = {thing for thing, found in known.items() if found is not None}
    for thing in known:
        related = {thing, *project.index.ancestry(thing)}
        if not related & narrow and not any(thing in project.index.ancestry(other) for other in narrow):
            return None
    return next((found for found in known.values() if found is not None), None)


def _about(project: Project, thing: Thing, name: str) -> dict[Thing, WidenedIntegers | None]:
    """What a class says of something of a name; empty where it does not mention it."""
    body = project.body(thing.path)
    mentioned = False
    for number in sorted(project.index.record(thing).methods.values()) if body is not None else ():
        assert body is not None
        for node in ast.walk(body.functions[number]):
            mentioned = mentioned or (isinstance(node, ast.Name | ast.Attribute) and name in chain(node).lower())
            narrow = _narrow_type(node, name) if isinstance(node, ast.Call) else ""
            if isinstance(node, ast.Call) and narrow:
                times = _TIMES[narrow.removeprefix("u").removeprefix("int")]
                return {thing: WidenedIntegers(narrow, thing.path, node.lineno, times)}
    return {thing: None} if mentioned else {}


def _narrow_type(call: ast.Call, name: str) -> str:
    """The narrow type that a call gives something of a name: `np.array(label).astype("int32")`; else empty."""
    dtypes = [keyword.value for keyword in call.keywords if keyword.arg == "dtype"]
    given = call.args[0] if call.args else None
    if isinstance(call.func, ast.Attribute) and call.func.attr in ("astype", "to"):
        dtypes, given = [*dtypes, *call.args[:1]], call.func.value
    if given is None or name not in ast.unparse(given).lower():
        return ""
    said = (d.value if isinstance(d, ast.Constant) else last_part(chain(d)) for d in dtypes)
    return next((d for d in said if isinstance(d, str) and _NARROW.match(d)), "")
