"""Calls that bear the name of a function which nobody seems to call."""

from __future__ import annotations

import pytest
from snippets import hot_at

from torchperf_lint.facts.hotness.named_calls import GUESSED
from torchperf_lint.model import Confidence

QUANTIZER = """
class Quantizer:
    def fasterquant(self, percdamp=0.01):
        q = self.layer.weight.clone()
        losses = torch.zeros(3).to(q.device)  # <-
        return losses

    def more(self):
        return {own}


class Other:
    def run(self):
        pass


def quantize(layers, table, other: Other):
    for name in layers:
        {call}
"""


@pytest.mark.parametrize(
    ("call", "own", "seen"),
    [
        ("table[name].fasterquant(percdamp=0.1)", "None", True),
        ("layers.pop().fasterquant()", "None", True),
        ("print(name)", "None", False),
        ("table[name].fasterquant", "None", False),  # no call
        ("fasterquant(name)", "None", False),  # no method
        ("other.fasterquant()", "None", False),  # another class's
    ],
)
def test_a_call_of_an_unknown_object_bears_its_name(call, own, seen):
    hot = hot_at(QUANTIZER.format(call=call, own=own).replace("percdamp=0.01", "q, percdamp=0.01"))
    assert hot is not None
    assert (hot.confidence is Confidence.POSSIBLE) is seen
    for said in (hot.because, "".join(part for part in hot.story if isinstance(part, str))):
        assert (GUESSED in said) is not seen
        assert ("no call that is seen runs it in every step: who else uses it may do so in every step" in said) is seen


IN_A_PASS = """

class Net(nn.Module):
    def forward(self, x):
        return self.parts[0].fasterquant(x)
"""
IN_A_NEW_PASS = """

def patch(net):
    def forward(self, x):
        return self.parts[0].fasterquant(x)

    net.forward = forward
"""


@pytest.mark.parametrize("more", [IN_A_PASS, IN_A_NEW_PASS])
def test_a_hot_call_takes_nothing_back(more):
    hot = hot_at(QUANTIZER.format(call="print(name)", own="None").replace("percdamp=0.01", "q, percdamp=0.01") + more)
    assert hot is not None
    assert hot.confidence is Confidence.LIKELY


FILES = {
    "ops.py": """
        def connect_layers(trace):
            value = trace.log() + torch.zeros(3).to(trace.device)  # <-
            return value
        """,
    "run.py": """
        import sys
        from typing import Any

        def _steps() -> Any:
            return sys.modules["ops"]

        def record(trace):
            {call}
        """,
}


@pytest.mark.parametrize(
    ("call", "seen"),
    [("_steps().connect_layers(trace)", True), ("connect_layers(trace)", False), ("trace.log().connect()", False)],
)
def test_a_function_is_called_through_an_unknown_module(call, seen):
    hot = hot_at({path: text.format(call=call) for path, text in FILES.items()})
    assert hot is not None
    assert (hot.confidence is Confidence.POSSIBLE) is seen


@pytest.mark.parametrize(
    ("name", "others", "tells"),
    [("rotate", 0, True), ("rotate", 4, False), ("index_rotate", 0, False), ("topk", 0, False)],
)
def test_names_of_many_and_of_libraries_tell_nothing(name, others, tells):
    more = "".join(f"\nclass C{i}:\n    def {name}(self, a, b):\n        return a.abs()\n" for i in range(others))
    text = f"""
class Part:
    def {name}(self, x):
        return x + torch.zeros(3).to(x.device)  # <-

def use(things, x):
    return things[0].{name}(x)
""" + more
    hot = hot_at(text)
    assert hot is not None
    assert hot.confidence is (Confidence.POSSIBLE if tells else Confidence.LIKELY)
