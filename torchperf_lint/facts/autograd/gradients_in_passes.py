"""Passes that need autograd though nothing is trained: a force field differentiates its energy by the positions.

    class Forces(nn.Module):                                 model.eval()
        def forward(self, energy, positions):                for batch in loader:
            return -torch.autograd.grad(energy, positions)[0]    model(batch)        # no_grad would break it

What such a module is a part of is seldom seen: models are built from lists and settings.
"""

from __future__ import annotations

from weakref import WeakKeyDictionary

from torchperf_lint.facts.call_graph.index import Index
from torchperf_lint.facts.call_graph.types import Types
from torchperf_lint.facts.files.source import Site
from torchperf_lint.facts.syntax.chains import last_part


def may_ask_for_gradients(site: Site) -> bool:
    """Whether a model of unknown class is called in a project of which some module's pass asks for gradients."""
    project = site.file.project
    if project.index not in _known:
        _known[project.index] = _some_pass_asks(project.index, project.types)
    if not _known[project.index]:
        return False
    value = site.file.value(site.call.func, site)
    return value.thing is None or value.thing.kind not in ("instance", "class")


_known: WeakKeyDictionary[Index, bool] = WeakKeyDictionary()


def _some_pass_asks(index: Index, types: Types) -> bool:
    """Whether the `forward` of a module differentiates, itself or by a method of one: `self.field.gradient(points)`."""
    asking = {
        outline.functions[call.function].name
        for path, outline in index.outlines.items()
        for call in outline.calls
        if call.callee.endswith("autograd.grad") and _is_of_a_module(index, types, path, call.function)
    }
    return "forward" in asking or (bool(asking) and not asking.isdisjoint(_called_in_passes(index, types)))


def _called_in_passes(index: Index, types: Types) -> set[str]:
    """The names of what the passes of modules call, of whatever object."""
    return {
        last_part(call.callee)
        for path, outline in index.outlines.items()
        for call in outline.calls
        if outline.functions[call.function].name == "forward" and _is_of_a_module(index, types, path, call.function)
    }


def _is_of_a_module(index: Index, types: Types, path: str, function: int) -> bool:
    own = index.class_of(path, function)
    return own is not None and types.is_module_class(own)
