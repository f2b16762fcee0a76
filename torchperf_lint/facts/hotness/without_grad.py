"""Where gradients are switched off: around a loop, inside it, in a function."""

from __future__ import annotations

from collections.abc import Callable

from torchperf_lint.facts.call_graph.index import FunctionKey, Index
from torchperf_lint.facts.syntax.chains import last_part


class WithoutGrad:
    """Answers for one project.

    `called_without_grad`: whether all that calls a function does so without gradients.
    """

    def __init__(self, index: Index, called_without_grad: Callable[[FunctionKey], bool]) -> None:
        self.index = index
        self._called_without_grad = called_without_grad
        self._inside: dict[str, frozenset[int]] = {}

    def around(self, path: str, index: int) -> bool:
        """Whether a loop, or the function it is in, runs without gradients."""
        outline = self.index.outlines[path]
        function = outline.functions[outline.regions[index].function]
        if any(last_part(d) in ("no_grad", "inference_mode") for d in function.decorators):
            return True
        while index >= 0:
            if outline.regions[index].kind == "grad-off":
                return True
            if outline.regions[index].kind == "function":
                return self._called_without_grad(FunctionKey(path, outline.regions[index].function))
            index = outline.regions[index].parent
        return False

    def inside(self, path: str, index: int) -> bool:
        """Whether a `with torch.no_grad()` stands directly in a loop or function."""
        if path not in self._inside:
            regions = self.index.outlines[path].regions
            self._inside[path] = frozenset([region.parent for region in regions if region.kind == "grad-off"])
        return index in self._inside[path]

    def function(self, key: FunctionKey) -> bool:
        """Whether a function switches gradients off itself."""
        region = self.index.function(key).region
        decorators = self.index.function(key).decorators
        off = any(last_part(name) in ("no_grad", "inference_mode") for name in decorators)
        return off or self.inside(key.path, region)
