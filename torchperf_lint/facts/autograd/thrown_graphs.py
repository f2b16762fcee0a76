"""Networks whose output is detached at once: all that autograd recorded for it is thrown away.

    fake = generator(noise).detach()
    targets = self.teacher(images).softmax(-1).detach()

Told by the network having parameters that nothing freezes, and by gradients being recorded where it is called. What
a file says of the gradients of tensors, as gradient penalties do, does not matter: through `detach` none comes back.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchperf_lint.facts.autograd.trainable import class_may_record, holds_layers, is_of_a_library, may_freeze
from torchperf_lint.facts.files.host_scripts import hands_out_arrays
from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.files.spots import hot_functions, hot_nodes
from torchperf_lint.facts.syntax.chains import chain
from torchperf_lint.facts.values.value import Value
from torchperf_lint.patterns import pattern

_KINDS = frozenset({"step", "forward", "rollout"})
_GRADIENTS = ("torch.func", "checkpoint(", "autocast_cache", "make_graphed_callables")
"""Where switching gradients off has other effects. Who asks autograd for gradients gets none through `detach`."""
_WRAPPERS = pattern(r"^torch\.nn\.(?:parallel\.)?(?:Distributed)?DataParallel\(\)$")


def thrown_graphs(file: SourceFile) -> Iterator[tuple[Site, ast.Call, Value]]:
    """The calls of networks in hot code whose result is detached, with the call of `detach` and what the network is."""
    if file.mentions(_GRADIENTS) or not hot_functions(file) or may_freeze(file.text):
        return
    if hands_out_arrays(file):
        return  # small networks, for which a graph costs next to nothing
    for end in hot_nodes(file, ast.Call):
        detach = end.expression
        assert isinstance(detach, ast.Call)
        if not isinstance(detach.func, ast.Attribute) or detach.func.attr != "detach":
            continue
        start = _network_call(detach.func.value)
        site = _site(file, start) if start is not None else None
        if site is None or site.hot is None or site.hot.kind not in _KINDS or site.hot.evaluates or site.hot.optional:
            continue
        if not file.project.hotness.grad_mode.records(file.path, site.start):
            continue
        module = file.value(site.call.func, site)
        if module.kind in ("module", "object") and _trains(file, site):
            yield site, detach, module


def _network_call(node: ast.expr) -> ast.Call | None:
    """What a chain of methods and indices starts with: `net(x)` of `net(x).softmax(-1)[0]`."""
    while True:
        if isinstance(node, ast.Subscript | ast.Attribute):
            node = node.value
        elif isinstance(node, ast.Call):
            if isinstance(node.func, ast.Name):
                return node
            if isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name | ast.Attribute):
                return node
            node = node.func
        else:
            return None


def _site(file: SourceFile, call: ast.Call) -> Site | None:
    at, callee = file.span(call)[0], chain(call.func)
    records = [c for c in file.outline.calls if (c.line, c.column) == at and c.callee == callee]
    return next(file.calls_among(records), None)


def _trains(file: SourceFile, site: Site) -> bool:
    """Whether what is called has parameters, whichever network it is, and nothing says that they take no gradients."""
    project = file.project
    things = project.types.things(file.path, site.function, site.record.callee)
    if is_of_a_library(things):
        return True
    networks = [thing for thing in things if not _WRAPPERS.match(thing.dotted)]
    return bool(networks) and all(
        n.kind == "instance" and class_may_record(project, n) and holds_layers(project, n) for n in networks
    )
