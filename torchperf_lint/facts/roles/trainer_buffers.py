"""Buffers of a module that trains another by accelerate: nobody moves the trainer, so what it counts is on the host.

    class Trainer(nn.Module):
        def __init__(self, model):
            self.accelerator = Accelerator()
            self.model = self.accelerator.prepare(model)        # this is moved,
            self.register_buffer("step", torch.tensor(0))       # and this is not
"""

from __future__ import annotations

from torchperf_lint.facts.call_graph.index import Index, Thing
from torchperf_lint.facts.syntax.chains import last_part

_MOVES = frozenset({"self.to", "self.cuda"})


def stays_with_its_trainer(index: Index, cls: Thing) -> bool:
    """Whether a class makes an `Accelerator` for what it trains, and does not move itself."""
    methods = set(index.record(cls).methods.values())
    called = {call.callee for call in index.outlines[cls.path].calls if call.function in methods}
    return any(last_part(callee) == "Accelerator" for callee in called) and not called & _MOVES
