"""Lambdas that a module binds to a name at its top: they run where the name is called, in other files, too.

    mse2psnr = lambda x: -10.0 * torch.log(x) / torch.log(torch.Tensor([10.0]))

    from helpers import *
    for batch in loader:
        psnr = mse2psnr(loss)                             # every step
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from torchperf_lint.facts.bodies import Body
from torchperf_lint.facts.chains import last_part
from torchperf_lint.facts.index import CallSite, Index

Bodies = Callable[[str], "Body | None"]


def runs_of(index: Index, bodies: Bodies, path: str, name: str) -> Iterator[CallSite]:
    """The calls that run the lambda, where its module binds the name to nothing else."""
    body = bodies(path)
    if body is None or len(body.definitions(0).get(name, ())) != 1:
        return
    for other, outline in index.outlines.items():
        names = set(_names_of(index, other, path, name))
        for call in outline.calls if names else ():
            if call.callee in names and not _is_another(index, bodies, CallSite(other, call), other == path):
                yield CallSite(other, call)


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
