"""Lambdas that have a name: they run where that is called, in other files, too, where a module binds it at its top.

    mse2psnr = lambda x: -10.0 * torch.log(x) / torch.log(torch.Tensor([10.0]))

    from helpers import *
    for batch in loader:
        psnr = mse2psnr(loss)                             # every step

A function binds its own before the loop that calls them; functions within it may call them as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.call_graph.index import CallSite, Index
from torchperf_lint.facts.outlines.records import Outline, Region
from torchperf_lint.facts.syntax.chains import last_part

Bodies = Callable[[str], "Body | None"]


def runs(index: Index, bodies: Bodies, path: str, region: Region) -> Iterator[CallSite]:
    """The calls that run the lambda of a region, as far as nothing else has its name."""
    if region.function > 0:
        yield from _within(index, bodies, path, region.function, region.detail)
    else:
        yield from _anywhere(index, bodies, path, region.detail)


def _anywhere(index: Index, bodies: Bodies, path: str, name: str) -> Iterator[CallSite]:
    """The calls that run the lambda of a module, where that binds the name to nothing else."""
    body = bodies(path)
    if body is None or len(body.definitions(0).get(name, ())) != 1:
        return
    for other, outline in index.outlines.items():
        names = set(_names_of(index, other, path, name))
        for call in outline.calls if names else ():
            if call.callee in names and not _is_another(index, bodies, CallSite(other, call), other == path):
                yield CallSite(other, call)


def _within(index: Index, bodies: Bodies, path: str, function: int, name: str) -> Iterator[CallSite]:
    """The calls that run the lambda that a function binds to a name, where it binds that to nothing else."""
    body, outline = bodies(path), index.outlines[path]
    if body is None or len(body.definitions(function).get(name, ())) != 1:
        return
    for call in outline.calls:
        if call.callee == name and _reads_of(outline, body, call.function, name) == function:
            yield CallSite(path, call)


def _reads_of(outline: Outline, body: Body, scope: int, name: str) -> int:
    """The function whose name a read in `scope` means: its own, or one around it; 0 for the module."""
    while scope > 0:
        if name in body.definitions(scope) or any(p.name == name for p in outline.functions[scope].parameters):
            return scope
        scope = outline.functions[scope].parent
    return 0


def _names_of(index: Index, importer: str, path: str, name: str) -> Iterator[str]:
    """What a file calls a name of the module at `path`: `name`, `helpers.name`."""
    outline, module = index.outlines[importer], _module_name(path)
    stars = [star for star in outline.stars if last_part(star) in (module, "") and name not in outline.imports]
    if importer == path or any(index.module(star, importer) == path for star in stars):
        yield name
    for alias, dotted in outline.imports.items():
        head, _, last = dotted.rpartition(".")
        head = dotted.removesuffix(last) if not head.strip(".") else head
        if last == name and head and index.module(head, importer) == path:
            yield alias
        elif last == module and index.module(dotted, importer) == path:
            yield f"{alias}.{name}"


def _module_name(path: str) -> str:
    """`helpers` of `net/helpers.py`, and of `helpers/__init__.py`: few imports of a project end so."""
    parts = path.removesuffix(".py").removesuffix("/__init__").split("/")
    return parts[-1]


def _is_another(index: Index, bodies: Bodies, site: CallSite, at_home: bool) -> bool:
    """Whether a function around a call, or the top of the file that imports the name, binds it to another thing."""
    name, body = site.call.callee.partition(".")[0], bodies(site.path)
    functions, scope = index.outlines[site.path].functions, site.call.function
    while body is not None and scope > 0:
        if name in body.definitions(scope) or any(parameter.name == name for parameter in functions[scope].parameters):
            return True
        scope = functions[scope].parent
    if body is None or at_home:
        return body is None
    here = any(d.how != "named" for d in body.definitions(0).get(name, ()))
    return here or name in index.outlines[site.path].tops
