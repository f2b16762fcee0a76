"""Passes that need autograd though nothing is trained: a force field differentiates its energy by the positions.

    class Forces(nn.Module):                                 model.eval()
        def forward(self, energy, positions):                for batch in loader:
            return -torch.autograd.grad(energy, positions)[0]    model(batch)        # no_grad would break it

What such a module is a part of is seldom seen: models are built from lists and settings.
"""

from __future__ import annotations

from torchperf_lint.facts.index import Index
from torchperf_lint.facts.source import Site
from torchperf_lint.facts.types import Types


def may_ask_for_gradients(site: Site) -> bool:
    """Whether a model of unknown class is called in a project of which some module's pass asks for gradients."""
    project = site.file.project
    passes = any(_asks(project.index, project.types, path) for path in project.index.outlines)
    if not passes:
        return False
    value = site.file.value(site.call.func, site)
    return value.thing is None or value.thing.kind not in ("instance", "class")


def _asks(index: Index, types: Types, path: str) -> bool:
    outline = index.outlines[path]
    for call in outline.calls:
        if call.callee.endswith("autograd.grad") and outline.functions[call.function].name == "forward":
            own = index.class_of(path, call.function)
            if own is not None and types.is_module_class(own):
                return True
    return False
