"""Data of the host that an inner loop of a step copies to the device piece by piece, to be put together there.

    for i in range(len(lengths)):                             clips = [waves[i][: n] for i in range(len(lengths))]
        clips.append(torch.from_numpy(waves[i][:n]).to(d))    clips = torch.from_numpy(np.stack(clips)).to(d)
    clips = torch.stack(clips)

Each turn waits for a copy of its own, of a few kilobytes: one copy of all takes no longer than one of these.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from torchperf_lint.facts.copies.computed import computed_upload
from torchperf_lint.facts.copies.fresh import made_of_sizes
from torchperf_lint.facts.copies.host_data import DRAWN, made_on_host, upload_at
from torchperf_lint.facts.devices.blocking import is_blocking
from torchperf_lint.facts.devices.devices import moves_to_device, target_device
from torchperf_lint.facts.element_loops.turns import HANDFUL
from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.hotness.loop import FEW_TURNS
from torchperf_lint.facts.loaders.joined_on_host import JOINS
from torchperf_lint.facts.outlines.guards import literal_turns
from torchperf_lint.facts.syntax import torch_api as api
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.syntax import names_of, nodes_of
from torchperf_lint.facts.values.value import DEVICE
from torchperf_lint.patterns import pattern

_JOINS = JOINS | {"pad_sequence", "pack_sequence", "block_diag"}
_PLACED = ("tensor", "as_tensor")
_AROUND = api.DERIVING
"""Methods that may stand between a copy and the list it goes into."""
_RUNS = pattern(
    r"\.(?:step|backward|forward|predict\w*|forecast|generate|infer\w*)$|(?:^|[._])(?:model|net|network|policy|envs?)(?:[._]|$)"
)
"""A turn that steps an environment or runs a network has to be a turn of its own."""
_ONE_NUMBER = frozenset("sum mean max min item len any all count_nonzero numel prod norm".split())
"""What gives one number for a turn, whether of the host or not."""
_Loop = ast.For | ast.ListComp | ast.GeneratorExp


class UploadInTurns(NamedTuple):
    """A copy to the device in each turn of a loop inside a step."""

    site: Site
    line: int
    """Of the loop."""
    factory: str
    """What made the tensor on the host, by its name in `torch`."""


def uploads_in_turns(file: SourceFile) -> Iterator[UploadInTurns]:
    """The hot copies of what a turn has made of data on the host, where all turns' results are put together."""
    for site in file.hot_calls("to", "cuda", *_PLACED):
        if site.hot is None or site.hot.kind == "data" or not is_blocking(site.call):
            continue
        loop = _inner_loop(file, site)
        if loop is None or not _gathers(file, site, loop):
            continue
        made = _made(site)
        if made is None or not _is_of_the_turn(made, loop) or _runs_something(file, site, loop):
            continue
        values = file.project.values
        upload = upload_at(values, site.call, site.frame) or computed_upload(values, site.call, site.frame)
        if upload is not None and upload.kind != DRAWN:
            continue  # numbers that no turn changes, or a single one: TPL252 says it
        yield UploadInTurns(site, loop.lineno, last_part(chain(made.func)))


def _inner_loop(file: SourceFile, site: Site) -> _Loop | None:
    """The innermost loop around a copy, where its turns are no steps and more than a handful."""
    loop = next((n for n in file.enclosing(site.function).around(site.call) if isinstance(n, _Loop | ast.While)), None)
    if loop is None or isinstance(loop, ast.While):
        return None
    around = site.hot.loop if site.hot is not None else None
    if around is not None and around[0] == file.path and file.outline.regions[around[1]].head == loop.lineno:
        return None
    target, iterated = _head(loop)
    turns = literal_turns(iterated)
    if (turns is not None and turns <= FEW_TURNS) or any(map(HANDFUL.search, names_of(target))):
        return None
    return None if _goes_in_chunks(iterated) or site.call in set(ast.walk(iterated)) else loop


def _head(loop: _Loop) -> tuple[ast.expr, ast.expr]:
    head = loop if isinstance(loop, ast.For) else loop.generators[0]
    return head.target, head.iter


def _goes_in_chunks(iterated: ast.expr) -> bool:
    """`range(0, n, size)`: what a turn copies is a batch itself."""
    return isinstance(iterated, ast.Call) and chain(iterated.func) == "range" and len(iterated.args) == 3


def _gathers(file: SourceFile, site: Site, loop: _Loop) -> bool:
    """Whether what turns copy is put together: in a list that is joined, or row by row."""
    enclosing = file.enclosing(site.function)
    statement = enclosing.statement(site.call)
    rows = isinstance(statement, ast.Assign) and _fills_rows(statement, loop)
    inner: ast.AST = site.call
    for node in enclosing.around(site.call):
        if isinstance(node, ast.Call) and last_part(chain(node.func)) == "append" and inner in node.args:
            return isinstance(node.func, ast.Attribute) and _is_joined(file, site, node.func.value)
        if node is loop:
            return isinstance(loop, ast.ListComp | ast.GeneratorExp) and _comprehension_joined(file, site, loop)
        if isinstance(node, ast.Assign):
            return rows or _named_and_gathered(file, site, node, loop)
        if isinstance(node, ast.stmt):
            return False
        called = last_part(chain(node.func)) if isinstance(node, ast.Call) else ""
        passes = JOINS | {api.VARIABLE} if isinstance(node, ast.Call) and inner in node.args else _AROUND
        if called and called not in passes and not (rows and _is_torchs(file, site, node)):
            return False
        inner = node
    return False


def _is_torchs(file: SourceFile, site: Site, call: ast.AST) -> bool:
    return isinstance(call, ast.Call) and api.is_torchs_own(file.denotes(call.func, site) or "")


def _is_joined(file: SourceFile, site: Site, gathered: ast.expr) -> bool:
    """Whether the function hands a list to what joins tensors: `torch.stack(clips)`."""
    written = ast.dump(gathered).replace("Store()", "Load()")
    calls = file.enclosing(site.function).of_kinds((ast.Call,))
    joins = (c for c in calls if isinstance(c, ast.Call) and c.args and last_part(chain(c.func)) in _JOINS)
    return any(ast.dump(join.args[0]) == written for join in joins)


def _comprehension_joined(file: SourceFile, site: Site, loop: ast.ListComp | ast.GeneratorExp) -> bool:
    """`torch.stack([...])` of a comprehension, or of the name that it is bound to."""
    parent = file.enclosing(site.function).parents.get(loop)
    if isinstance(parent, ast.Call) and loop in parent.args:
        return last_part(chain(parent.func)) in _JOINS
    return isinstance(parent, ast.Assign) and any(_is_joined(file, site, target) for target in parent.targets)


def _fills_rows(statement: ast.Assign, loop: _Loop) -> bool:
    """`points[i, :, 0:3] = ...`: each turn fills its own row of a whole."""
    variables = names_of(_head(loop)[0])
    subscripts = (target for target in statement.targets if isinstance(target, ast.Subscript))
    for subscript in subscripts:
        index = subscript.slice
        parts = index.elts if isinstance(index, ast.Tuple) else [index]
        if any(isinstance(part, ast.Name) and part.id in variables for part in parts):
            iterated = _head(loop)[1]
            return isinstance(iterated, ast.Call) and chain(iterated.func) in ("range", "enumerate")
    return False


def _named_and_gathered(file: SourceFile, site: Site, statement: ast.Assign, loop: _Loop) -> bool:
    """`clip = torch.from_numpy(y).to(device)`, then `clips.append(clip)` in the same turn."""
    names = {target.id for target in statement.targets if isinstance(target, ast.Name)}
    for node in nodes_of(loop):
        if not isinstance(node, ast.Call) or last_part(chain(node.func)) != "append" or len(node.args) != 1:
            continue
        given = node.args[0]
        while isinstance(given, ast.Call) and isinstance(given.func, ast.Attribute) and given.func.attr in _AROUND:
            given = given.func.value
        if isinstance(given, ast.Name) and given.id in names and isinstance(node.func, ast.Attribute):
            return _is_joined(file, site, node.func.value)
    return False


def _made(site: Site) -> ast.Call | None:
    """The call that makes a tensor of data that the host has, where the site copies it to the device."""
    values, call = site.file.project.values, site.call
    if last_part(chain(call.func)) in _PLACED:
        if not any(k.arg == "device" for k in call.keywords) or not _is_torchs(site.file, site, call):
            return None
        data = values.of(call.args[0], site.frame) if call.args else None
        known = data is not None and data.kind in ("array", "sequence", "plain")
        unknown = data is not None and data.kind == "unknown" and last_part(chain(call.func)) == "tensor"
        return call if (known or unknown) and target_device(values, call, site.frame) == DEVICE else None
    if site.receiver is None or not moves_to_device(values, call, site.frame):
        return None
    made = made_on_host(values, _unwrapped(site.receiver), site.frame)
    if made is None or made.function != site.function or made.factory not in api.HOST_DATA | api.LEGACY_TYPES:
        return None
    return made.call if made_of_sizes(values, made.call, site.frame) is None else None


def _unwrapped(node: ast.expr) -> ast.expr:
    """What a `Variable(...)` of old holds."""
    is_wrapped = isinstance(node, ast.Call) and last_part(chain(node.func)) == api.VARIABLE and node.args
    return node.args[0] if is_wrapped and isinstance(node, ast.Call) else node


def _is_of_the_turn(made: ast.Call, loop: _Loop) -> bool:
    """Whether a turn makes it, of something that differs from turn to turn."""
    nodes = list(ast.walk(loop))
    if made not in nodes or not made.args:
        return False
    data = made.args[0]
    if isinstance(data, ast.Call) and last_part(chain(data.func)) in _ONE_NUMBER:
        return False
    bound = names_of(_head(loop)[0]) | {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    return any(isinstance(n, ast.Name) and n.id in bound for n in ast.walk(data))


def _runs_something(file: SourceFile, site: Site, loop: _Loop) -> bool:
    """Whether a turn runs a network or steps an environment."""
    calls = [node for node in ast.walk(loop) if isinstance(node, ast.Call)]
    if any(_RUNS.search(chain(call.func)) for call in calls):
        return True
    return any(file.value(call.func, site).kind == "module" for call in calls)
