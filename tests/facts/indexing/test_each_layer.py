"""Places of tokens that each attention layer looks for."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.indexing.each_layer import is_found_in_each_layer
from torchperf_lint.facts.indexing.selections import selections

LAYER = """\
def places_of(attention_mask: torch.Tensor):
    return torch.nonzero({searched}).flatten()

class {name}(nn.Module):
    def forward(self, x: torch.Tensor, attention_mask: torch.Tensor):
        return x.cuda().flatten(0, 1)[places_of(attention_mask.cuda())]
"""


@pytest.mark.parametrize(
    ("name", "searched", "told"),
    [
        ("FlashAttention2", "attention_mask.flatten()", True),
        ("SelfAttn", "attention_mask.view(-1)", True),
        ("AttentionPooling", "attention_mask.flatten()", False),
        ("Embeddings", "attention_mask.flatten()", False),
        ("FlashAttention2", "attention_mask[0]", False),
    ],
)
def test_places_that_are_the_same_in_all_layers(name, searched, told):
    files = texts(LAYER.format(name=name, searched=searched))
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    (selection,) = selections(file)
    assert is_found_in_each_layer(selection) is told
