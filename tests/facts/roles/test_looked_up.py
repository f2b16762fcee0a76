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


@pytest.mark.parametrize(
    ("file", "parameters", "hot"),
    [
        ("loss_functions.py", "x, y", True),
        ("metrics.py", "img1, img2", True),
        ("losses/image.py", "p, q", True),
        ("loss_functions.py", "h, w", False),
        ("glossary.py", "x, y", False),
    ],
)
def test_what_losses_compare_may_have_short_names(file, parameters, hot):
    module = file[:-3].replace("/", ".")
    main = f"import {module} as offered\n\ndef main(config):\n    return getattr(offered, config['loss'])\n"
    first, second = parameters.split(", ")
    loss = f"def distance({parameters}):\n    return ({first} - {second}).abs().sum().item()  # <-\n"
    assert (hot_at({"main.py": main, file: loss}) is not None) is hot
