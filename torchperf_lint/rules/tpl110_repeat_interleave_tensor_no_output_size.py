"""TPL110."""

from __future__ import annotations

from collections.abc import Iterator

from torchperf_lint.confirming import by_events
from torchperf_lint.evidence import Evidence
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.indexing.repeating import (
    BESIDE,
    MADE,
    NUMBERED,
    SHARED,
    STORED,
    SUMMED,
    Repeated,
    repeated_by_counts,
)
from torchperf_lint.facts.syntax.conditions import short, words
from torchperf_lint.model import Confidence, Finding, Severity, Verdict
from torchperf_lint.rule import SourceRule


class RepeatInterleaveTensorNoOutputSize(SourceRule):
    """`torch.repeat_interleave(x, counts)` with counts on the device, in code that runs every step.

    ## What it does
    Flags `repeat_interleave` by a tensor of counts on the device without `output_size=`, in training steps, forward
    passes and evaluation batches (the last are reported as info), where the host can know the size: positions are
    numbered (`torch.arange(batch)`) of something that has that size already, what the result is put together with is as
    long (`torch.cat([x, result], dim=-1)`), it has a row for each element that a sparse matrix stores, the function
    reads the sum of the counts anyway, the counts were uploaded right there, or several results by the same counts need
    one read only.

    ## Why it is slow
    The result is as large as the sum of the counts, so torch reads that sum from the device before it can allocate
    the result, and the host waits for everything queued before it. A check that no count is negative reads again.

    ## Example
    ```python
    import torch
    from torch import nn

    class Pool(nn.Module):
        def __init__(self):
            super().__init__()
            self.proj = nn.Linear(64, 64)

        def forward(self, nodes: torch.Tensor, counts: torch.Tensor):
            nodes = self.proj(nodes.to("cuda"))
            graph = torch.repeat_interleave(torch.arange(len(counts), device=nodes.device), counts)
            return nodes.new_zeros(len(counts), 64).index_add_(0, graph, nodes)
    ```

    ## Use instead
    ```python
    import torch
    from torch import nn

    class Pool(nn.Module):
        def __init__(self):
            super().__init__()
            self.proj = nn.Linear(64, 64)

        def forward(self, nodes: torch.Tensor, counts: torch.Tensor):
            nodes = self.proj(nodes.to("cuda"))
            numbers = torch.arange(len(counts), device=nodes.device)
            graph = torch.repeat_interleave(numbers, counts, output_size=nodes.shape[0])
            return nodes.new_zeros(len(counts), 64).index_add_(0, graph, nodes)
    ```

    ## When it is fine
    Counts that are a number, or on the host:
    ```python
    import torch
    from torch import nn

    class Heads(nn.Module):
        def __init__(self, groups: int):
            super().__init__()
            self.groups = groups
            self.proj = nn.Linear(64, 64)

        def forward(self, x: torch.Tensor):
            key = self.proj(x.to("cuda"))
            return key.repeat_interleave(self.groups, dim=1), torch.repeat_interleave(key, 2, dim=-1)
    ```
    Where nothing shows that the size can be known (frames by predicted durations) the read is the price of the
    algorithm: that is only `possible`, shown with `--confidence possible`.

    ## Fix safety
    There is no automatic fix: where the size comes from only the author knows, and a wrong one is not noticed on the
    device.

    ## Confirmed by
    A synchronisation at the call in at least half of the recorded steps; or several in a row, in a loop of its own.

    ## References
    - PyTorch documentation of `torch.repeat_interleave`: `output_size` avoids the stream synchronisation.
    - pytorch/torchtitan #2440, huggingface/diffusers #11030.
    """

    code, name, since = "TPL110", "repeat-interleave-tensor-no-output-size", "0.1.0"
    triggers = ("repeat_interleave",)
    probes = ("host-sync",)

    def check(self, file: SourceFile, project: Project) -> Iterator[Finding]:
        """Yield a finding for each hot call that has to read how large its result is."""
        if project.must_run_before(1, 9):  # which brought `output_size`
            return
        for found in repeated_by_counts(file):
            hot = found.site.hot
            assert hot is not None
            disputable = found.known is None or hot.optional
            counts = short(words(found.counts))
            yield self.found(
                found.site,
                message=f"`{file.brief(found.site.call)}` is as large as the sum of `{counts}`, which the host reads, "
                f"and waits for the device, {hot.when}",
                instead=_INSTEAD[_written(found)].format(counts=counts, size=found.size),
                value=found.value,
                hot=hot,
                severity=Severity.INFO if disputable or hot.kind == "eval" or hot.evaluates else None,
                confidence=Confidence.POSSIBLE if disputable else None,
                root_cause=f"TPL110 of {counts} in function {found.site.function}",
            )

    def confirm(self, finding: Finding, run: Evidence) -> Verdict:
        """By synchronisations at the call."""
        return by_events(finding, run, run.at(finding, "sync"), "synchronisation", probes=self.probes)


def _written(found: Repeated) -> str | None:
    """How the advice is written: a size that has a name is told by it, whatever else shows that the host knows it."""
    return BESIDE if found.size is not None and found.known in (NUMBERED, SHARED) else found.known


_INSTEAD = {
    BESIDE: "pass `output_size={size}`: what the result is put together with is as long, which the host knows",
    MADE: "give the number itself, or pass `output_size=`: what was uploaded here is known on the host",
    NUMBERED: "pass `output_size=`: the host knows it from the shape of what these numbers index, which is as long",
    STORED: "pass `output_size={size}`: it is as long as the matrix stores elements, which the host knows",
    SUMMED: "read the sum first, and pass it: `output_size=total`",
    SHARED: "read the sum once, `total = int({counts}.sum())`, and pass `output_size=total` to each",
    None: "pass `output_size=` where the host knows the size: from a shape, or from where the counts are made",
}
