"""Calls that say nothing of what a function gets in earnest: a test's own batch, a pass tried out on the host.

    features = self.net(torch.zeros(1, 3, 84, 84)).shape[1]          def test_step(): step({"x": torch.ones(2)})
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchperf_lint.facts.call_graph.index import CallSite, FunctionKey
from torchperf_lint.facts.values.value import HOST, Value

if TYPE_CHECKING:
    from torchperf_lint.facts.values.values import Values


def is_made_up(values: Values, key: FunctionKey, site: CallSite, value: Value) -> bool:
    """Whether a test passes a dict or list of its own, of tensors on the host: a batch in earnest is elsewhere."""
    held = (value.item, *value.items, *(entry for _, entry in value.entries))
    on_host = any(part is not None and part.kind == "tensor" and part.device == HOST for part in held)
    return on_host and values.hotness.demonstrations.tests(site.path, key.path)


def is_tried_out(values: Values, key: FunctionKey, site: CallSite, value: Value) -> bool:
    """Whether a call only tries out a pass of a module, on the host: what trains it passes tensors from elsewhere.

    `features = self.net(torch.zeros(1, 3, 84, 84)).shape[1]` of a constructor, or the demo at the end of a file.
    """
    if value.kind != "tensor" or value.device != HOST:
        return False
    demonstrations = values.hotness.demonstrations
    if demonstrations.tests(site.path, key.path) or demonstrations.tries_on_noise(site, key):
        return True
    hot = values.hotness.functions.get(key)
    if hot is None or hot.kind != "forward" or hot.depth:
        return False
    return values.hotness.of_region(site.path, site.call.region) is None
