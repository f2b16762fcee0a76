"""TPL655."""

from __future__ import annotations

from collections.abc import Iterator

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.fixes.edits import fix_of
from torchperf_lint.facts.models.attention_weights import NEED_WEIGHTS, Unread, unread_weights
from torchperf_lint.facts.values.value import Value
from torchperf_lint.model import Confidence, Finding, Safety, Severity
from torchperf_lint.rule import SourceRule


class MhaNeedWeightsDefault(SourceRule):
    """`out, _ = self.attn(q, k, v)`: `nn.MultiheadAttention` computes weights that nobody reads.

    ## What it does
    Flags calls of torch's `nn.MultiheadAttention` in code that runs every step or forward pass, where the attention
    weights are dropped (`out, _ = ...`, `...[0]`, a second name that nothing reads) and the call does not say
    `need_weights=False`. In evaluation it is reported as info.

    ## Why it is slow
    `need_weights` is True by default. The module then computes scores, softmax and product one after another, writes
    a matrix of query length by key length for each head to memory twice, and averages it over the heads; without the
    weights it calls `scaled_dot_product_attention`, which has fused kernels that never write that matrix. Before torch
    2.0 there are none: what is spared there is the average over the heads, which reads the matrix once more, and the
    finding is info.

    ## Example
    ```python
    import torch
    from torch import nn

    class Block(nn.Module):
        def __init__(self, dim):
            super().__init__()
            self.attn = nn.MultiheadAttention(dim, 8, batch_first=True)

        def forward(self, x: torch.Tensor):
            out, _ = self.attn(x, x, x)
            return x + out
    ```

    ## Use instead
    ```python
    import torch
    from torch import nn

    class Block(nn.Module):
        def __init__(self, dim):
            super().__init__()
            self.attn = nn.MultiheadAttention(dim, 8, batch_first=True)

        def forward(self, x: torch.Tensor):
            out, _ = self.attn(x, x, x, need_weights=False)
            return x + out
    ```

    ## When it is fine
    Where the weights are used, and in a module of your own that only looks like torch's:
    ```python
    import torch
    from torch import nn

    class Pooled(nn.Module):
        def __init__(self, dim):
            super().__init__()
            self.attn = nn.MultiheadAttention(dim, 8, batch_first=True)

        def forward(self, x: torch.Tensor):
            out, weights = self.attn(x, x, x)
            return out, weights.argmax(-1)
    ```
    ## Fix safety
    Unsafe: the fused kernels (torch 2.0) round differently, draw other random numbers for
    dropout, give zeros instead of NaN to a query whose keys are all masked, and some of them cannot be differentiated
    twice. A forward hook that reads the weights gets None.

    ## Confirmed by
    Nothing yet: no probe watches which kernels a module runs.

    ## References
    - PyTorch documentation of `torch.nn.MultiheadAttention.forward`, `need_weights`.
    - Seen in torch 2.13: `bmm`, `_softmax`, `bmm`, `mean` by default, one fused attention kernel without weights.
    """

    code, name, since = "TPL655", "mha-need-weights-default", "0.1.0"
    triggers = ("MultiheadAttention",)

    def check(self, file: SourceFile, project: Project) -> Iterator[Finding]:
        """Yield a finding for each hot call whose weights nothing reads."""
        if "register_forward_hook" in file.text:
            return  # a hook sees what the call gives, whatever the statement drops
        for unread in unread_weights(file):
            yield self._found(file, unread, not project.must_run_before(2, 0))

    def _found(self, file: SourceFile, unread: Unread, can_fuse: bool) -> Finding:
        site, (name, position) = unread.site, NEED_WEIGHTS
        assert site.hot is not None
        written = file.brief(site.call.func)
        return self.found(
            site,
            message=f"`{written}` {'computes' if can_fuse else 'averages'} its attention weights "
            f"{'' if can_fuse else 'over the heads '}{site.hot.when}, and {unread.how}"
            f"{': the fused attention kernels are left out for them' if can_fuse else ''}",
            instead=f"{'write' if unread.asked else 'add'} `need_weights=False`: the module then "
            f"{'calls `scaled_dot_product_attention`' if can_fuse else 'leaves the average out'}",
            value=Value(
                "module",
                because=f"`{written}` is a `torch.nn.MultiheadAttention`, whose `need_weights` is "
                f"{'set to True' if unread.asked else 'True by default'}",
            ),
            hot=site.hot,
            severity=Severity.INFO if site.hot.kind == "eval" or not can_fuse else None,
            confidence=Confidence.POSSIBLE if site.hot.optional else None,
            fix=fix_of(site, Safety.UNSAFE, lambda edit: edit.set_argument(site.call, name, position, "False")),
        )
