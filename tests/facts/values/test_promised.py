"""What annotations of containers promise of their elements."""

from __future__ import annotations

import pytest
from snippets import value_of

from torchperf_lint.facts.values.promised import contents
from torchperf_lint.facts.values.value import ANYWHERE


@pytest.mark.parametrize(
    ("annotation", "expression", "kind"),
    [
        ("tuple[torch.Tensor, int]", "x[0]", "tensor"),
        ("tuple[torch.Tensor, int]", "x[1]", "plain"),
        ("tuple[torch.Tensor, ...]", "x[5]", "tensor"),
        ("list[dict[str, torch.Tensor]]", "x[0]", "sequence"),
        ("list[dict[str, torch.Tensor]]", "x[0]['boxes']", "tensor"),
        ("dict[str, list[torch.Tensor]]", "x['boxes'][0]", "tensor"),
        ("tuple[list[torch.Tensor], Optional[torch.Tensor]]", "x[1]", "tensor"),
        ("tuple[list[torch.Tensor], torch.Tensor | None]", "x[1]", "tensor"),
        ("tuple[list[torch.Tensor], Net]", "x[1]", "unknown"),
        ("Dict[str, List[float]]", "x['lr'][0]", "plain"),
        ("Tuple[int, ...]", "x[0]", "plain"),
        ("typing.Sequence[Optional[int]]", "x[0]", "plain"),
        ("Dict[str, Net]", "x['net']", "unknown"),
        ("list[int]", "x[0]", "unknown"),
        ('float["b n d"]', "x[:, None]", "tensor"),
        ('bool["b"] | None', "x[0]", "tensor"),
    ],
)
def test_elements(annotation, expression, kind):
    assert value_of(f"def f(x: {annotation}):\n    return {expression}", expression).kind == kind


def test_elements_of_unpacked_lists():
    code = """
        def update(self, output: tuple[list[dict[str, torch.Tensor]], list[dict[str, torch.Tensor]]]):
            predictions, targets = output
            for prediction, target in zip(predictions, targets):
                return target["labels"]
    """
    found = value_of(code, 'target["labels"]')
    assert (found.kind, found.device) == ("tensor", ANYWHERE)
    assert "`output` is annotated `tuple[list[dict[str, torch.Tensor]]" in found.because


@pytest.mark.parametrize("annotation", ["", "torch.Tensor", "list[int]", "list[", "dict[torch.Tensor, torch.Tensor]"])
def test_no_container_of_tensors(annotation):
    assert contents(annotation, "so it is annotated") is None


def test_a_name_of_the_files_own_stands_for_a_container():
    code = "import torch\nfrom typing import List\nBatch = List[torch.Tensor]\ndef f(x: Batch):\n    return x[0]"
    assert value_of(code, "x[0]").kind == "tensor"


def test_a_display_of_progress_hands_on_batches():
    loop = "for x in LogProgress(log, self.data_loader):\n        print(x)"
    code = f"from utils import LogProgress\ndef f(self):\n    {loop}"
    assert value_of(code, "x").kind == "batch"
