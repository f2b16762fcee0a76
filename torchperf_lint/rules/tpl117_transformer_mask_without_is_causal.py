"""TPL117."""

from __future__ import annotations

from collections.abc import Iterator

from torchperf_lint.confirming import by_events
from torchperf_lint.evidence import Evidence
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.fixes.edits import fix_of
from torchperf_lint.facts.models.causal_masks import Masked, compared
from torchperf_lint.facts.reads.reads import cause
from torchperf_lint.facts.syntax.conditions import short, words
from torchperf_lint.model import Confidence, Finding, Safety, Severity, Verdict
from torchperf_lint.rule import SourceRule


class TransformerMaskWithoutIsCausal(SourceRule):
    """`self.encoder(x, mask=causal_mask)` without `is_causal=True`.

    ## What it does
    Flags hot calls of `nn.TransformerEncoder`, `nn.TransformerDecoder` and `nn.Transformer` with a causal mask and
    without `is_causal=`, `tgt_is_causal=` or `src_is_causal=`.

    ## Why it is slow
    Without the flag torch finds out by itself: it builds a causal mask, compares all of it with the one it was given,
    and reads the answer, `bool((mask == reference).all())`. The host waits in every forward pass for what never
    changes.

    ## Example
    ```python
    import torch
    from torch import nn

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(64, 4, batch_first=True), 2)

        def forward(self, x: torch.Tensor):
            x = x.to("cuda")
            mask = nn.Transformer.generate_square_subsequent_mask(x.shape[1], device=x.device)
            return self.encoder(x, mask=mask)
    ```

    ## Use instead
    ```python
    import torch
    from torch import nn

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(64, 4, batch_first=True), 2)

        def forward(self, x: torch.Tensor):
            x = x.to("cuda")
            mask = nn.Transformer.generate_square_subsequent_mask(x.shape[1], device=x.device)
            return self.encoder(x, mask=mask, is_causal=True)
    ```

    ## When it is fine
    No mask, a mask of the padding only, and single layers, which do not look:
    ```python
    import torch
    from torch import nn

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(64, 4, batch_first=True), 2)
            self.layer = nn.TransformerEncoderLayer(64, 4, batch_first=True)

        def forward(self, x: torch.Tensor, padding: torch.Tensor):
            x = self.encoder(x.to("cuda"), src_key_padding_mask=padding)
            mask = nn.Transformer.generate_square_subsequent_mask(x.shape[1], device=x.device)
            return self.layer(x, src_mask=mask)
    ```
    Of a mask that the code does not show to be causal nobody here knows whether it is compared at all (one for each
    head is not): that is only `possible`, shown with `--confidence possible`; the answer there may be
    `is_causal=False`.

    ## Fix safety
    Unsafe: with the flag other kernels may be chosen, which round differently. Only where the mask is torch's own or
    `torch.triu` above the diagonal and can be nothing else, as None: with the flag and without a mask torch raises.

    ## Confirmed by
    A synchronisation at the call in at least half of the recorded steps; or several in a row, in a loop of its own.

    ## References
    - PyTorch documentation of `torch.nn.TransformerEncoder.forward`, `is_causal`.
    - torch/nn/modules/transformer.py, `_detect_is_causal_mask`.
    """

    code, name, since = "TPL117", "transformer-mask-without-is-causal", "0.1.0"
    triggers = ("Transformer",)
    probes = ("host-sync",)

    def check(self, file: SourceFile, project: Project) -> Iterator[Finding]:
        """Yield a finding for each hot call that has to find out what its mask is."""
        if "mask" not in file.text or project.must_run_before(2, 0):  # which brought the flag
            return
        for found in compared(file):
            yield self._compared(file, found)

    def _compared(self, file: SourceFile, found: Masked) -> Finding:
        hot, flag = found.site.hot, found.flag
        assert hot is not None
        disputable = not found.causal or hot.optional
        write = f"pass `{flag}=True`" if found.causal else f"pass `{flag}=True` if it is causal, else `{flag}=False`"
        return self.found(
            found.site,
            message=f"`{file.brief(found.site.call.func)}` compares `{short(words(found.mask))}` with a causal mask, "
            f"and the host waits for the answer {hot.when}",
            instead=f"{write}: nothing is compared then",
            value=found.value,
            hot=hot,
            severity=Severity.INFO if disputable or hot.kind == "eval" or hot.evaluates else None,
            confidence=Confidence.POSSIBLE if disputable else None,
            root_cause=f"mask: {cause(found.site)}",
            fix=fix_of(found.site, Safety.UNSAFE, lambda edit: edit.set_keyword(found.site.call, flag, "True"))
            if found.exact and not disputable
            else None,
        )

    def confirm(self, finding: Finding, run: Evidence) -> Verdict:
        """By synchronisations at the call; they happen inside `torch.nn`."""
        return by_events(finding, run, run.at(finding, "sync"), "synchronisation", probes=self.probes)
