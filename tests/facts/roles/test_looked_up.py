"""Functions that a configuration names, and the hot lines in them."""

from __future__ import annotations

import pytest
from snippets import hot_at

TRAIN = """\
import metrics as measures

def main(config):
    return [getattr(measures, name) for name in config["metrics"]]
"""


@pytest.mark.parametrize(
    ("parameters", "hot"),
    [
        ("output, target", True),
        ("logits, labels, k=3", True),
        ("path, target", False),
        ("output", False),
    ],
)
def test_a_metric_is_given_an_output_and_a_target(parameters, hot):
    first = parameters.split(",")[0]
    metric = f"def accuracy({parameters}):\n    return torch.argmax({first}, 1).sum().item()  # <-\n"
    assert (hot_at({"main.py": TRAIN, "metrics.py": metric}) is not None) is hot


def test_a_module_that_nothing_looks_into_says_nothing():
    metric = "def accuracy(output, target):\n    return (output == target).sum().item()  # <-\n"
    assert hot_at({"main.py": "import metrics\n", "metrics.py": metric}) is None
