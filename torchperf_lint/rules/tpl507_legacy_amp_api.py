"""TPL507."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.files.torch_bounds import Release
from torchperf_lint.facts.processes.amp import Legacy, legacy_uses
from torchperf_lint.facts.processes.amp_fixes import new_spelling, replaced_since, under_torch_amp
from torchperf_lint.facts.processes.amp_imports import first_of_imports
from torchperf_lint.model import Confidence, Finding, Location, Related, Severity
from torchperf_lint.rule import SourceRule

_SHOWN = 60
_PARALLEL = "wrap the model in `torch.nn.parallel.DistributedDataParallel(model, device_ids=[local_rank])`"
_SYNC_BN = "write `torch.nn.SyncBatchNorm.convert_sync_batchnorm(model)`"
_NATIVE = (
    'run the forward pass under `with torch.autocast("cuda"):` and backward and step through '
    '`torch.amp.GradScaler("cuda")`; models and optimizers need no `initialize`'
)
_DEPRECATED = (2, 4)
_AMP = "TPL507 apex.amp"
"""Its functions go together: a file that drops one drops all."""


class LegacyAmpApi(SourceRule):
    """`torch.cuda.amp`, `torch.cpu.amp` and apex's mixed precision.

    ## What it does
    Flags uses of `torch.cuda.amp.autocast`, `GradScaler`, `custom_fwd` and `custom_bwd` and their `torch.cpu.amp`
    twins, calls of `apex.amp` (once a file), and apex's `DistributedDataParallel` and `convert_syncbn_model`, unless a
    setting chooses between it and torch's `SyncBatchNorm.convert_sync_batchnorm`. Reported as info: the spellings under
    `torch` are deprecated since 2.4 and as fast as the new ones. With the first use of an imported name stands where
    it is imported.

    ## Why it is slow
    `torch.cuda.amp` is not slow; each call issues a FutureWarning, and it will go. Apex's mixed precision patches
    functions, is no longer maintained, and keeps `torch.compile` and fused optimizers out.

    ## Example
    ```python
    import torch
    from torch.cuda.amp import GradScaler, autocast

    def train(model, loader, optimizer, criterion, device):
        scaler = GradScaler()
        for x, y in loader:
            optimizer.zero_grad()
            with autocast(dtype=torch.float16):
                loss = criterion(model(x.to(device, non_blocking=True)), y.to(device, non_blocking=True))
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
    ```

    ## Use instead
    ```python
    import torch

    def train(model, loader, optimizer, criterion, device):
        scaler = torch.amp.GradScaler("cuda")
        for x, y in loader:
            optimizer.zero_grad()
            with torch.autocast("cuda", dtype=torch.float16):
                loss = criterion(model(x.to(device, non_blocking=True)), y.to(device, non_blocking=True))
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
    ```

    ## When it is fine
    Beside a test of the version or in a handler, for versions that lack the new spelling (`torch.amp.GradScaler` came
    with 2.3):
    ```python
    import torch

    def make_scaler():
        if hasattr(torch.amp, "GradScaler"):
            return torch.amp.GradScaler("cuda")
        return torch.cuda.amp.GradScaler()
    ```

    A test for 1.6 asks whether there is mixed precision at all, and excuses nothing.

    Under `target-torch`, or a torch that the project pins, what that version lacks is not asked for: `torch.autocast`
    came with 1.10. A lower bound that admits such a version (`torch>=1.8`) is named in the finding.

    ## Fix safety
    Unsafe: `torch.amp.GradScaler` needs torch 2.3, `custom_fwd` and `custom_bwd` with a device type need 2.4; and
    inside another `autocast` region the new one takes over that region's dtype where none is given, while the old one
    went back to float16. Arguments given by position get their names, and an import that nothing else uses goes. No
    fix for apex, nor where something else calls what it names, nor where the project admits a torch without the new
    spelling.

    ## Confirmed by
    Nothing: the old spelling under `torch` costs nothing that a probe could see.

    ## References
    - PyTorch documentation, "Automatic Mixed Precision package", deprecations.
    - PyTorch 2.4 release notes; TorchFix, deprecated amp.
    """

    code, name, since = "TPL507", "legacy-amp-api", "0.1.0"
    severity = Severity.INFO
    triggers = ("cuda.amp", "cpu.amp", "from torch.cuda import", "from torch.cpu import", "apex")

    def check(self, file: SourceFile, project: Project) -> Iterator[Finding]:
        """Yield a finding for each use of a replaced spelling."""
        uses = legacy_uses(file)
        asked = [use for use in uses if not (use.device and project.must_run_before(*replaced_since(use)))]
        for use, statement in first_of_imports(asked):
            yield self.found(
                use.mark,
                message=_message(use, project),
                instead=_torch(file, use) + _not_yet(use, project) if use.device else _apex(use),
                confidence=Confidence.CERTAIN if use.device else Confidence.LIKELY,
                related=[] if statement is None else [_imported(file, use, statement)],
                fix=under_torch_amp(use),
                root_cause=_AMP if use.dotted.startswith("apex.amp.") else None,
                leads=use.name == "initialize" or bool(use.device),
            )


def _imported(file: SourceFile, use: Legacy, statement: ast.stmt) -> Related:
    """Where the name comes from, which goes with its last use."""
    start, end = file.span(statement)
    return Related(Location(file.shown, *start, *end), f"`{use.head}` is imported here")


def _message(use: Legacy, project: Project) -> str:
    if use.device:
        said = f"`{use.dotted}` is deprecated since torch 2.4"
        if not project.must_run_before(*_DEPRECATED):
            return f"{said}, and its calls issue a FutureWarning"
        since = _release(replaced_since(use))
        return f"{said}, where its calls issue a FutureWarning; what replaces it is there since {since}"
    return f"`{use.dotted}` is no longer maintained; torch has mixed precision and data parallelism of its own"


def _not_yet(use: Legacy, project: Project) -> str:
    """What keeps a project from writing it, if a bound that it says is older than the new spelling."""
    since, admitted = replaced_since(use), project.torch.admitted
    if admitted is None or admitted >= since:
        return ""
    return f", once the project asks for torch {_release(since)}, which brought it: it admits {_release(admitted)}"


def _release(release: Release) -> str:
    return ".".join(map(str, release))


def _apex(use: Legacy) -> str:
    if use.dotted.startswith("apex.parallel"):
        return _SYNC_BN if use.name == "convert_syncbn_model" else _PARALLEL
    return _NATIVE


def _torch(file: SourceFile, use: Legacy) -> str:
    if use.name in ("custom_fwd", "custom_bwd"):
        arguments = [f'device_type="{use.device}"', *_arguments(file, use)]
        return f"write `@torch.amp.{use.name}({', '.join(arguments)})`"
    arguments = [f'"{use.device}"', *_arguments(file, use)]
    spelled = new_spelling(use)
    written = f"{spelled}({', '.join(arguments)})"
    if len(written) > _SHOWN:
        written = f'{spelled}("{use.device}", ...)'
    if use.call is None and _gets_a_name(use):
        return f'write `partial({spelled}, "{use.device}")`, of `functools`, which tells the device'
    return f"write `{written}`"


def _gets_a_name(use: Legacy) -> bool:
    parents = use.mark.file.enclosing(use.mark.function).parents
    above = parents.get(use.mark.expression)
    return isinstance(parents.get(above) if isinstance(above, ast.IfExp) else above, ast.Assign)


def _arguments(file: SourceFile, use: Legacy) -> Iterator[str]:
    """The arguments for the new spelling; the first of `autocast` was `enabled`, which now comes later."""
    call = use.call
    if call is None:
        return
    for position, argument in enumerate(call.args):
        named = position == 0 and use.name == "autocast" and not isinstance(argument, ast.Starred)
        yield f"enabled={file.brief(argument)}" if named else file.brief(argument)
    for keyword in call.keywords:
        yield f"{keyword.arg}={file.brief(keyword.value)}" if keyword.arg else f"**{file.brief(keyword.value)}"
