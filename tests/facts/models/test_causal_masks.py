"""Which masks torch has to compare with a causal one, and which of them are."""

from __future__ import annotations

import pytest
from snippets import IMPORTS

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.models.causal_masks import compared

MODULE = """
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2), 2)
        self.both = nn.Transformer(8, 2)
        self.kept = torch.triu(torch.ones(8, 8, device="cuda"), 1)

    def forward(self, x: torch.Tensor, given: torch.Tensor):
        x = x.to("cuda")
        mask = nn.Transformer.generate_square_subsequent_mask(8, device=x.device)
        worked = (torch.triu(torch.ones(8, 8)) == 1).transpose(0, 1).to(x.device)
        return {call}
"""
CAUSAL = [("is_causal", True)]


def _found(call: str) -> list[tuple[str, bool]]:
    text = IMPORTS + MODULE.replace("{call}", call)
    file = SourceFile(Project.of_texts({"m.py": text}), "m.py", text)
    return [(found.flag, found.causal) for found in compared(file)]


@pytest.mark.parametrize(
    ("call", "found"),
    [
        ("self.encoder(x, mask)", [("is_causal", True)]),
        ("self.encoder(x, mask=mask.bool())", [("is_causal", True)]),
        ("self.encoder(x, mask=self.kept[:4, :4])", [("is_causal", True)]),
        ("self.encoder(x, mask=given)", [("is_causal", False)]),
        ("self.both(x, x, mask, mask)", [("src_is_causal", True), ("tgt_is_causal", True)]),
        ("self.both(x, x, tgt_mask=mask, src_is_causal=True)", [("tgt_is_causal", True)]),
        ("self.encoder.forward(x, mask=mask)", [("is_causal", True)]),
        ("self.encoder(x, worked.float().masked_fill(worked == 0, -1e9).masked_fill(worked == 1, 0.0))", CAUSAL),
        ("self.encoder(x, None)", []),
        ("self.encoder(x, mask, None, True)", []),
        ("self.encoder(x, mask, is_causal=False)", []),
        ("self.encoder(*x, mask=mask)", []),
        ("self.other(x, mask=mask)", []),
    ],
)
def test_what_is_compared(call: str, found: list[tuple[str, bool]]) -> None:
    assert _found(call) == found


@pytest.mark.parametrize(
    ("mask", "exact"),
    [
        ("mask", True),
        ("mask.to(x.device)", True),
        ("torch.triu(torch.ones(8, 8, device=x.device), diagonal=1).bool()", True),
        ("torch.triu(torch.full((8, 8), -1e9, device=x.device), 1)", True),
        ("torch.triu(torch.ones(8, 8, device=x.device)).bool()", False),
        ("torch.triu(torch.ones(8, 8, device=x.device), 1)", False),
        ("self.kept", False),
        ("given", False),
    ],
)
def test_what_can_be_nothing_else(mask: str, exact: bool) -> None:
    text = IMPORTS + MODULE.replace("{call}", f"self.encoder(x, mask={mask})")
    file = SourceFile(Project.of_texts({"m.py": text}), "m.py", text)
    assert any(found.exact for found in compared(file)) == exact
