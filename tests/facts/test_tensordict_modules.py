"""Classes of tensordict's modules have a `forward` that every step runs."""

from __future__ import annotations

from snippets import hot_at


def test_a_module_of_tensordicts():
    code = """
        from tensordict.nn import {base}

        class Loss({base}):
            def forward(self, data):
                return data  # <-
        """
    for base in ("TensorDictModuleBase", "TensorDictModule", "ProbabilisticTensorDictModule"):
        hot = hot_at(code.format(base=base))
        assert hot is not None, base
        assert hot.kind == "forward"
    assert hot_at(code.format(base="TensorDictParams")) is None
