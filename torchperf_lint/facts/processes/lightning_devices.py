"""How many devices the Lightning trainers of a project use, and what in a LightningModule names one of them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchperf_lint.facts.call_graph.index import Thing
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.roles.framework_hooks import is_lightning
from torchperf_lint.facts.syntax.arguments import keyword, literal
from torchperf_lint.facts.syntax.chains import last_part
from torchperf_lint.patterns import pattern

_ONE_OF_THEM = pattern(r"^cuda:\d+$")
_SEVERAL = pattern(r"^(?:ddp|fsdp|deepspeed|dp$)")


def named_devices(file: SourceFile) -> Iterator[tuple[Site, str]]:
    """The hot calls in methods of a LightningModule that name a device by its number, and that device."""
    for record in file.outline.calls:
        owner = file.outline.functions[record.function].class_index
        if owner < 0 or not _is_lightning(file, owner):
            continue
        for site in file.calls_among([record]):
            device = _named(file, site) if site.hot is not None else None
            if device is not None:
                yield site, device


def several_devices(project: Project) -> bool | None:
    """Whether a trainer of the project uses several devices; None where none says how many it uses."""
    told = [_devices(call) for call in _trainers(project)]
    if True in told:
        return True
    return False if told and all(each is False for each in told) else None


def _is_lightning(file: SourceFile, owner: int) -> bool:
    bases = file.project.index.external_bases(Thing("class", file.path, owner))
    return is_lightning(bases)


def _named(file: SourceFile, site: Site) -> str | None:
    """`"cuda:0"` of `x.to("cuda:0")`, `x.cuda(0)` and `torch.zeros(3, device="cuda:0")`."""
    called = last_part(site.record.callee)
    first = site.call.args[0] if site.call.args else None
    if called == "cuda" and site.receiver is not None:
        number = first if first is not None else site.keyword("device")
        index = number.value if isinstance(number, ast.Constant) else None
        return f"cuda:{index}" if isinstance(index, int) else None
    given = site.keyword("device") or (first if called == "to" else None)
    return _device(file, site, given) if given is not None else None


def _device(file: SourceFile, site: Site, given: ast.expr) -> str | None:
    if isinstance(given, ast.Call) and file.denotes(given.func, site) == "torch.device" and given.args:
        if len(given.args) == 2:
            kind, number = (a.value if isinstance(a, ast.Constant) else None for a in given.args)
            return f"cuda:{number}" if kind == "cuda" and isinstance(number, int) else None
        given = given.args[0]
    text = given.value if isinstance(given, ast.Constant) else None
    return text if isinstance(text, str) and _ONE_OF_THEM.match(text) else None


def _trainers(project: Project) -> Iterator[ast.Call]:
    for path, outline in project.index.outlines.items():
        for record in outline.calls:
            if last_part(record.callee) != "Trainer":
                continue
            thing = project.types.thing(path, record.function, record.callee)
            body = project.body(path) if thing is not None and thing.dotted == "lightning.Trainer" else None
            call = body.node_of(record) if body is not None else None
            if call is not None:
                yield call


def _devices(call: ast.Call) -> bool | None:
    """Whether a trainer uses several devices; None where it does not say."""
    strategy = literal(call, "strategy")
    if isinstance(strategy, str) and _SEVERAL.match(strategy):
        return True
    for name in ("devices", "gpus", "num_nodes"):
        given, count = keyword(call, name), literal(call, name)
        if isinstance(given, ast.List):
            return len(given.elts) > 1
        if isinstance(count, int) and (count != 1 or name != "num_nodes"):
            return count not in (0, 1)
    return None
