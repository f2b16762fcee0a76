"""Loops without gradients that bring one frame or file after the other to the device, and compute with it there.

    @torch.no_grad()
    def accumulate(frames, device):
        for frame in frames:
            positions = torch.as_tensor(frame["positions"], device=device)
            total += update(counts, positions)

No model runs, but who brings each input to the device has it computed there.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.call_graph.direct_calls import DirectCalls
from torchperf_lint.facts.call_graph.index import Index
from torchperf_lint.facts.call_graph.types import Types
from torchperf_lint.facts.hotness.inputs_one_by_one import STREAMED, counted_over
from torchperf_lint.facts.hotness.loop import EVERY_INPUT, Loop
from torchperf_lint.facts.hotness.without_grad import WithoutGrad
from torchperf_lint.facts.outlines.records import Call
from torchperf_lint.facts.roles.cold import COLD_NAME, NOT_TRAINING_NAME
from torchperf_lint.facts.syntax.arguments import keyword
from torchperf_lint.facts.syntax.chains import last_part
from torchperf_lint.model import Confidence

_MAKERS = frozenset({"torch.as_tensor", "torch.tensor", "torch.asarray"})


class InputsMoved:
    """Answers for one project."""

    def __init__(
        self,
        index: Index,
        types: Types,
        calls: DirectCalls,
        without_grad: WithoutGrad,
        body: Callable[[str], Body | None],
    ) -> None:
        self.index = index
        self.types = types
        self.calls = calls
        self.without_grad = without_grad
        self._body = body

    def at(self, path: str, number: int) -> Loop | None:
        """What the loop region `number` of a file is; None where it brings nothing to a device, or records."""
        outline = self.index.outlines[path]
        region = outline.regions[number]
        inputs, name = counted_over(region.detail) or region.iterable, outline.functions[region.function].name
        if not STREAMED.search(inputs) or COLD_NAME.search(name) or NOT_TRAINING_NAME.search(name):
            return None
        if not self.without_grad.around(path, number):
            return None
        calls = self.calls.directly_in(path, number)
        moved = next((call for call in calls if self._moves(path, call)), None)
        own = (c for c in calls if c is not moved and self.types.targets(path, c.function, c.callee))
        runs = next((call for call in own if moved is not None and call.line > moved.line), None)
        if moved is None or runs is None:
            return None
        because = f"brings each of `{inputs}` to the device (line {moved.line}) and calls `{runs.callee}()` for it"
        return Loop("eval", f"{because} (line {runs.line})", Confidence.LIKELY, region.head, EVERY_INPUT)

    def _moves(self, path: str, call: Call) -> bool:
        if call.callee not in _MAKERS and last_part(call.callee) != "cuda":
            return False
        body = self._body(path)
        node = body.node_of(call) if body is not None else None
        if not isinstance(node, ast.Call):
            return False
        device = keyword(node, "device")
        return last_part(call.callee) == "cuda" or (device is not None and not isinstance(device, ast.Constant))
