"""TPL654."""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.models.fused_beside import has_another_way, knows_fused
from torchperf_lint.facts.models.written_out_attention import Attention, written_out
from torchperf_lint.facts.values.value import Value
from torchperf_lint.model import Confidence, Finding, Related, Severity
from torchperf_lint.patterns import pattern
from torchperf_lint.rule import SourceRule

_FEW_KEYS = pattern(
    r"neighbo|halo|outlook|pixel|slot|object|merg|pool|channel|xca|covariance|eager|naive|manual|linear", re.IGNORECASE
)
"""Names of attention over few keys, where there is little to gain, and of what is kept beside a fused one."""


class ManualAttention(SourceRule):
    """Attention written out: `softmax(q @ k.transpose(-2, -1)) @ v`.

    ## What it does
    Flags a softmax over the keys, in code that runs every step or forward pass, whose input is a product of
    queries with transposed keys (scaled and masked at most) and whose result goes, through dropout at most, into a
    product with the values and nowhere else, or elsewhere only behind a flag that is off by default, or back to callers
    that all drop them, or read them behind such a flag, or into an attribute that nothing in the project reads. With a
    learned bias on the scores it is only `possible`, as where names speak of a handful of keys. In evaluation it is
    reported as info.

    ## Why it is slow
    Scores and weights are matrices of query length by key length for each head. Each operation writes one of them to
    memory and the next reads it again, and the backward pass keeps them. `scaled_dot_product_attention` computes the
    same in one kernel that never writes them: memory grows with the length, not with its square.

    ## Example
    ```python
    import torch
    from torch import nn

    class Attention(nn.Module):
        def __init__(self, dim, heads):
            super().__init__()
            self.heads, self.scale = heads, (dim // heads) ** -0.5
            self.qkv = nn.Linear(dim, dim * 3)
            self.drop = nn.Dropout(0.1)

        def forward(self, x: torch.Tensor, mask: torch.Tensor):
            q, k, v = self.qkv(x).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
            scores = (q @ k.transpose(-2, -1)) * self.scale
            scores = scores.masked_fill(mask == 0, float("-inf"))
            weights = self.drop(scores.softmax(dim=-1))
            return (weights @ v).transpose(1, 2).flatten(2)
    ```

    ## Use instead
    ```python
    import torch
    import torch.nn.functional as F
    from torch import nn

    class Attention(nn.Module):
        def __init__(self, dim, heads):
            super().__init__()
            self.heads = heads
            self.qkv = nn.Linear(dim, dim * 3)

        def forward(self, x: torch.Tensor, mask: torch.Tensor):
            q, k, v = self.qkv(x).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
            p = 0.1 if self.training else 0.0
            out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask != 0, dropout_p=p)
            return out.transpose(1, 2).flatten(2)
    ```

    ## When it is fine
    Where the weights are always returned, kept and read, or changed by something else than dropout, in files that have
    a fused path beside it (of xformers: in the same class, where something may call it), and where the softmax goes
    over another dimension:
    ```python
    import torch
    from torch import nn

    class Shown(nn.Module):
        def __init__(self, dim):
            super().__init__()
            self.q, self.k, self.v = nn.Linear(dim, dim), nn.Linear(dim, dim), nn.Linear(dim, dim)

        def forward(self, x: torch.Tensor):
            weights = (self.q(x) @ self.k(x).transpose(-2, -1)).softmax(dim=-1)
            return weights @ self.v(x), weights
    ```
    Under a `target-torch` before 2.0 nothing is reported.

    ## Fix safety
    There is no automatic fix: a mask has to be given as what may be attended to (True) or as what is added, the scale
    differs from 1 / sqrt(head dimension) at times (`scale=`, since torch 2.1), `dropout_p` is not switched off by
    `eval()`, and results differ by rounding.

    ## Confirmed by
    Nothing yet: no probe watches which kernels a module runs.

    ## References
    - PyTorch documentation of `torch.nn.functional.scaled_dot_product_attention` (torch 2.0), and its tutorial.
    - pytorch/torchtitan #999: a training step from 30 s to 7 s, and half the memory.
    """

    code, name, since = "TPL654", "manual-attention", "0.1.0"
    triggers = ("softmax(", "Softmax(")

    def check(self, file: SourceFile, project: Project) -> Iterator[Finding]:
        """Yield a finding for each attention that is written out in hot code."""
        if project.must_run_before(2, 0) or knows_fused(file):
            return  # who knows the fused one has it elsewhere in the file, or had a reason
        for attention in written_out(file):
            if not has_another_way(file, attention.site):
                yield self._found(file, attention, not project.must_run_before(2, 1))

    def _found(self, file: SourceFile, attention: Attention, can_scale: bool) -> Finding:
        site = attention.site
        assert site.hot is not None
        outline = file.outline
        record = outline.functions[site.function]
        owner = outline.classes[record.class_index].name if record.class_index >= 0 else ""
        doubtful = attention.biased or site.hot.optional or _FEW_KEYS.search(f"{owner} {record.name}") is not None
        queries, keys = file.brief(attention.queries), file.brief(attention.keys)
        return self.found(
            site,
            message=f"attention of `{queries}` to `{keys}` is written out, and its weights go to memory "
            f"{site.hot.when} for nobody else{' by default' if attention.flags else ''}",
            instead=_instead(attention, queries, keys, can_scale) + _left_out(attention),
            value=Value(
                "tensor",
                because=f"the softmax is taken of the product of `{queries}` with "
                f"{'the transposed ' if attention.transposed else ''}`{keys}`, and only multiplied with the values",
                confidence=Confidence.LIKELY,
            ),
            hot=site.hot,
            severity=Severity.INFO if doubtful or site.hot.kind == "eval" else None,
            confidence=Confidence.POSSIBLE if doubtful else None,
            related=list(_products(file, attention)),
        )


def _products(file: SourceFile, attention: Attention) -> Iterator[Related]:
    """The products around the softmax, which the fused attention does as well; what shares its line is seen there."""
    seen = {attention.site.record.line}
    told = [(node, "multiplies the queries with the keys") for node in attention.scoring]
    told += [(node, "multiplies the weights with the values") for node in attention.weighing]
    for node, does in told:
        (line, column), (last, end) = file.span(node)
        if line not in seen:
            seen.add(line)
            yield file.related(file.path, line, column, does, end - column if last == line else 1)


def _instead(attention: Attention, queries: str, keys: str, can_scale: bool) -> str:
    given = [queries, keys, "values"] if attention.transposed else ["q", "k", "v"]
    if attention.masked or attention.biased:
        given.append("attn_mask=...")
    if can_scale:
        given.append("scale=...")
    asked = f" where `{attention.flags[0]}` does not ask for the weights" if attention.flags else ""
    dropped = f", with `dropout_p=p if self.training else 0.0` for what `{attention.dropout}` does"
    said = f"call `F.scaled_dot_product_attention({', '.join(given)})`{dropped if attention.dropout else ''}{asked}"
    if not attention.transposed:
        said += (
            ", each laid out as `(batch, heads, positions, channels)` first, with one head where there are no others"
        )
    else:
        said += _reshaped(attention.rank or _OF_FUSED)
    if attention.biased:
        return f"{said}, with what is added to the scores in `attn_mask`; or FlexAttention, since torch 2.5"
    if attention.masked:
        rows = "; rows that may attend to nothing are set to zero in what it gives" if attention.zeroed else ""
        return f"{said}; a boolean mask is True where attention is paid{rows}"
    return said


_OF_FUSED = 4
"""Dimensions of what the fused kernels take; all else is computed as it is written out."""


def _reshaped(rank: int) -> str:
    """What to do with tensors of other than four dimensions first."""
    if rank == _OF_FUSED:
        return ""
    more = rank - _OF_FUSED
    how = f"the first {more + 1} dimensions of each made one (`.flatten(0, {more})`)"
    how = "a dimension for one head in each (`.unsqueeze(1)`)" if more < 0 else how
    return f", with {how}: the fused kernels take four"


def _left_out(attention: Attention) -> str:
    return f"; leave out `{attention.kept[0]}`, which nothing in the project reads" if attention.kept else ""
