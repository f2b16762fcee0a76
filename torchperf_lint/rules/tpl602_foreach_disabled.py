"""TPL602."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchperf_lint.confirming import by_optimizers
from torchperf_lint.evidence import Evidence
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.files.switches import asked_for, reached
from torchperf_lint.facts.fixes.edits import fix_of
from torchperf_lint.facts.optimizers.parameter_groups import Groups, groups_of_one
from torchperf_lint.facts.processes.process_flags import explained
from torchperf_lint.facts.syntax.literals import is_false
from torchperf_lint.model import Confidence, Finding, Outcome, Safety, Severity, Verdict
from torchperf_lint.rule import SourceRule

_NAMES = "Adam AdamW SGD RMSprop Adagrad Adadelta Adamax NAdam RAdam ASGD Rprop Adafactor".split()
_DOTTED = tuple(dotted for name in _NAMES for dotted in (f"torch.optim.{name}", f"torch.optim.{name.lower()}.{name}"))
_DISTRIBUTED = ("DTensor", "fully_shard", "FullyShardedDataParallel", "FSDP")
"""With these `foreach` has had faults of its own."""


class ForeachDisabled(SourceRule):
    """An optimizer of torch is told to update one parameter at a time.

    ## What it does
    Flags a literal `foreach=False` given to an optimizer of torch.optim, unless `fused` or `differentiable` is given
    as well, a flag decides, or the file shards parameters; and lists with a parameter group for each parameter,
    `[{"params": p, ...} for p in model.parameters()]`, which make each update one of a single tensor as well. With a
    comment that says why, or in a function that nothing in the project calls, it is only `possible`.

    ## Why it is slow
    Without it, torch updates all parameters on a CUDA device together, with a handful of kernels for a whole list. One
    at a time, each parameter costs several kernels of its own, and those of biases and norms are too small to keep the
    device busy.

    ## Example
    ```python
    import torch

    def build(model):
        return torch.optim.AdamW(model.parameters(), lr=1e-3, foreach=False)

    optimizer = build(torch.nn.Linear(8, 8).cuda())
    ```

    ## Use instead
    ```python
    import torch

    def build(model):
        return torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)

    optimizer = build(torch.nn.Linear(8, 8).cuda())
    ```

    ## When it is fine
    Where memory is scarce: updating together takes a temporary copy about as large as the parameters.
    ```python
    import torch

    def build(model, scarce):
        if scarce:
            return torch.optim.AdamW(model.parameters(), lr=1e-3, foreach=False)
        return torch.optim.AdamW(model.parameters(), lr=1e-3)
    ```

    ## Fix safety
    Unsafe: the argument is removed. The update takes more memory, and sums may round differently. For groups there is
    no fix.

    ## Confirmed by
    The switch `foreach` of the optimizers that stepped on a device. What it costs no probe measures, nor how many
    groups there are.

    ## References
    - PyTorch documentation of `torch.optim.AdamW`, `foreach`.
    - torch.profiler, `OptimizerSingleTensorPattern`.
    """

    code, name, since = "TPL602", "foreach-disabled", "0.1.0"
    severity = Severity.INFO
    triggers = ("foreach=False", "foreach = False", '"params"', "'params'")
    probes = ("steps",)

    def check(self, file: SourceFile, project: Project) -> Iterator[Finding]:
        """Yield a finding for each optimizer built that way."""
        if project.must_run_before(2, 0) or file.mentions(_DISTRIBUTED):
            return
        for site in file.calls_of(*_DOTTED):
            if not _disabled(site) or asked_for(file, site.call, site.function):
                continue
            sure = reached(file, site.function) and not explained(file, site.call)
            yield self.found(
                site,
                message=f"`foreach=False` makes `{file.brief(site.call.func)}` update one parameter at a time: several "
                "small kernels for each, every step",
                instead="leave `foreach` out: on a CUDA device parameters are then updated together; or "
                "write `fused=True`",
                confidence=Confidence.LIKELY if sure else Confidence.POSSIBLE,
                fix=fix_of(site, Safety.UNSAFE, lambda edit, call=site.call: edit.drop_argument(call, "foreach")),  # type: ignore[misc]
            )

        for groups in groups_of_one(file):
            yield self._in_groups(file, groups)

    def _in_groups(self, file: SourceFile, groups: Groups) -> Finding:
        spot = groups.spot
        sure = reached(file, spot.function) and not explained(file, groups.over)
        return self.found(
            spot,
            message=f"{_GROUPS} of `{file.brief(groups.over)}` makes `{file.brief(groups.optimizer.func)}` update one "
            "parameter at a time: several small kernels for each, every step",
            instead="put all parameters with the same settings into one group: "
            '`{"params": decayed, "weight_decay": w}, {"params": others, "weight_decay": 0.0}`',
            confidence=groups.confidence if sure else Confidence.POSSIBLE,
        )

    def confirm(self, finding: Finding, run: Evidence) -> Verdict:
        """By the switch of the optimizers that stepped."""
        if _GROUPS in finding.message:
            return Verdict(Outcome.UNOBSERVABLE, "no probe counts the groups of an optimizer")
        return by_optimizers(finding, run, "foreach", lambda value: value is False)


_GROUPS = "a group for each parameter"


def _disabled(site: Site) -> bool:
    value = site.keyword("foreach")
    others = (site.keyword("fused"), site.keyword("differentiable"))
    off = all(other is None or (isinstance(other, ast.Constant) and not other.value) for other in others)
    return is_false(value) and off
