"""TPL114."""

from __future__ import annotations

from collections.abc import Iterator

from torchperf_lint.confirming import by_events
from torchperf_lint.evidence import Evidence
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.indexing.inferred_sizes import NAMES, inferred_sizes
from torchperf_lint.facts.syntax.conditions import short, words
from torchperf_lint.model import Confidence, Finding, Severity, Verdict
from torchperf_lint.rule import SourceRule


class InferSizeFromData(SourceRule):
    """Functions that read the largest index from the device to know how large their result is, in code of every step.

    ## What it does
    Flags, in training steps, forward passes and evaluation batches, `torch.nn.functional.one_hot` without
    `num_classes`, the reductions of torch_scatter (`scatter`, `scatter_mean`, ...) without `dim_size` or `out`, and of
    torch_geometric `scatter` without `dim_size`, `softmax` without `num_nodes` or `ptr`, `degree` without `num_nodes`,
    and `global_add_pool`, `global_mean_pool` and `global_max_pool` without `size`; and any of them with a size that is
    the largest element still on the device, `F.one_hot(x, x.max() + 1)`, `F.one_hot(x, max(x.max() + 1, n))`.

    ## Why it is slow
    Without the size they compute `int(index.max()) + 1`: the host waits until the device has done all that was queued,
    before it can allocate the result.

    ## Example
    ```python
    import torch
    from torch import nn
    from torch_geometric.nn import global_mean_pool

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.proj, self.out = nn.Linear(16, 64), nn.Linear(64, 1)

        def forward(self, data):
            x = self.proj(data.x.to("cuda"))
            return self.out(global_mean_pool(x, data.batch))
    ```

    ## Use instead
    ```python
    import torch
    from torch import nn
    from torch_geometric.nn import global_mean_pool

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.proj, self.out = nn.Linear(16, 64), nn.Linear(64, 1)

        def forward(self, data):
            x = self.proj(data.x.to("cuda"))
            return self.out(global_mean_pool(x, data.batch, size=data.num_graphs))
    ```

    ## When it is fine
    With the size, and on the host:
    ```python
    import torch.nn.functional as F
    from torch import nn

    class Embed(nn.Module):
        def __init__(self, classes: int):
            super().__init__()
            self.classes = classes
            self.proj = nn.Linear(classes, 64)

        def forward(self, labels):
            return self.proj(F.one_hot(labels, self.classes).float())
    ```

    ## Fix safety
    There is no automatic fix: how many groups or classes there are only the author knows. A size that is too small is
    an error on the device, one that is larger than the largest index gives more rows than before.

    ## Confirmed by
    A synchronisation at the call in at least half of the recorded steps; or several in a row, in a loop of its own.

    ## References
    - PyTorch documentation of `torch.nn.functional.one_hot`: without `num_classes` it is inferred from the tensor.
    - torch_scatter documentation of `scatter`: `dim_size`; torch_geometric documentation of `global_mean_pool`: `size`
      "if not given, will be computed automatically".
    """

    code, name, since = "TPL114", "infer-size-from-data", "0.1.0"
    severity = Severity.INFO
    triggers = NAMES
    probes = ("host-sync",)

    def check(self, file: SourceFile, project: Project) -> Iterator[Finding]:
        """Yield a finding for each hot call that infers the size of its result."""
        del project
        for found in inferred_sizes(file):
            hot, index = found.site.hot, short(words(found.asked))
            assert hot is not None
            yield self.found(
                found.place,
                message=f"`{file.brief(found.site.call)}` reads the largest element of `{index}` to know the size of "
                f"its result, and waits for the device, {hot.when}",
                instead=_CLAMPED if found.place is not found.site else _INSTEAD[found.keyword],
                value=found.value,
                hot=hot,
                confidence=Confidence.POSSIBLE if hot.optional else None,
                root_cause=f"TPL114 of {index} in function {found.site.function}",
            )

    def confirm(self, finding: Finding, run: Evidence) -> Verdict:
        """By synchronisations at the call."""
        return by_events(finding, run, run.at(finding, "sync"), "synchronisation", probes=self.probes)


_CLAMPED = (
    "give what the host knows, and let the larger indices fall into one row more, which is cut off: "
    "`F.one_hot(x.clamp(max=n), n + 1)[..., :n]`"
)
_GROUPS = "which the host knows: from the batch (its `num_graphs`), or from the shape of what has a row for each"
_INSTEAD = {
    "num_classes": "pass `num_classes=`: a setting, or the size of the layer that it goes to",
    "dim_size": f"pass `dim_size=`, the number of groups, {_GROUPS}",
    "size": f"pass `size=`, the number of graphs, {_GROUPS}",
    "num_nodes": f"pass `num_nodes=`, {_GROUPS}",
}
