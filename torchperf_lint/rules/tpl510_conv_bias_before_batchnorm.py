"""TPL510."""

from __future__ import annotations

from collections.abc import Iterator

from torchperf_lint.confirming import unmeasured
from torchperf_lint.evidence import Evidence
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.fixes.edits import fix_of
from torchperf_lint.facts.models.before_batch_norm import biased
from torchperf_lint.model import Confidence, Finding, Safety, Severity, Verdict
from torchperf_lint.rule import SourceRule

_TRAINED = ("pretrained", "load_state_dict_from_url", "load_url", "hf_hub_download")
"""What says that weights exist which were trained with the bias."""


class ConvBiasBeforeBatchnorm(SourceRule):
    """A convolution's bias that the batch normalisation behind it takes away.

    ## What it does
    Flags `nn.Conv1d`, `Conv2d`, `Conv3d` and their transposes with a bias, as information, where `nn.BatchNorm` or
    `nn.SyncBatchNorm` comes next in an `nn.Sequential` or a list of layers, or in `self.bn(self.conv(x))`. Off by
    default: it changes what checkpoints hold. In a file that loads trained weights it is only `possible`.

    ## Why it is slow
    The normalisation subtracts the mean over the batch, and the bias with it. In training the bias costs an addition,
    a sum over all positions for its gradient, which is zero, and its place in the optimizer.

    ## Example
    ```python
    from torch import nn

    block = nn.Sequential(nn.Conv2d(3, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU())
    ```

    ## Use instead
    ```python
    from torch import nn

    block = nn.Sequential(nn.Conv2d(3, 64, 3, padding=1, bias=False), nn.BatchNorm2d(64), nn.ReLU())
    ```

    ## When it is fine
    Where something stands between them, where the normalisation is another one, and where weights that were trained
    with a bias are to be loaded:
    ```python
    from torch import nn

    activated = nn.Sequential(nn.Conv2d(3, 64, 3), nn.ReLU(), nn.BatchNorm2d(64))
    grouped = nn.Sequential(nn.Conv2d(3, 64, 3), nn.GroupNorm(8, 64))
    ```

    ## Fix safety
    Unsafe: `bias=False` is passed. Checkpoints with a bias can no longer be loaded strictly, and weights drawn
    behind the bias are others with the same seed.

    ## Confirmed by
    Nothing: no probe looks at single layers. That the line did not run is reported.

    ## References
    - PyTorch performance tuning guide, "Disable bias for convolutions directly followed by a batch norm".
    - `torch.profiler._pattern_matcher`, `Conv2dBiasFollowedByBatchNorm2dPattern`.
    """

    code, name, since = "TPL510", "conv-bias-before-batchnorm", "0.1.0"
    severity = Severity.INFO
    default = False
    triggers = ("BatchNorm",)

    def check(self, file: SourceFile, project: Project) -> Iterator[Finding]:
        """Yield a finding for each convolution whose bias nothing sees."""
        del project
        if not file.mentions(("Conv",)):
            return
        trained = file.mentions(_TRAINED)
        for site, norm in biased(file):
            yield self.found(
                site,
                message=f"the bias of `{file.brief(site.call)}` is taken away by the batch normalisation (line {norm})",
                instead="pass `bias=False`; the normalisation has a bias of its own",
                confidence=Confidence.POSSIBLE if trained else Confidence.LIKELY,
                fix=fix_of(
                    site,
                    Safety.UNSAFE,
                    lambda edit, call=site.call: edit.set_keyword(call, "bias", "False"),  # type: ignore[misc]
                ),
            )

    def confirm(self, finding: Finding, run: Evidence) -> Verdict:
        """No probe looks at single layers."""
        return unmeasured(run, finding.location, "no probe looks at single layers")
