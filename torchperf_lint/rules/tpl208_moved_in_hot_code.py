"""TPL208."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchperf_lint.confirming import by_events, copies
from torchperf_lint.evidence import Evidence
from torchperf_lint.facts.constants.fallbacks import devices_differ, is_fallback
from torchperf_lint.facts.copies.moves import Repeated, repeated_move
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.fixes.hoisting import before_the_loop
from torchperf_lint.facts.indexing.listed_after_move import listed_after_move
from torchperf_lint.model import Confidence, Finding, Severity, Verdict
from torchperf_lint.rule import SourceRule


class MovedInHotCode(SourceRule):
    """A module, or a tensor that stays the same, moved to the device at every step.

    ## What it does
    Flags `.to(device)`, `.cuda()` and `.type_as(x)` in code that runs every training step or forward pass, on a module,
    and on a tensor in host memory that was made before the loop, or made or loaded (`TABLE = torch.load(path)`) as a
    constant of the Python module, or as an entry of one: `STATS["mean"]`. What a method moves and calls, and only the
    constructor sets, is taken for a module. What each of several objects keeps in host memory, where its constructor
    put it, is flagged where a training loop draws one of them: `views[i].image.cuda()`. A module that such code makes
    of constants alone, `LPIPS()`, is the same each time, and so is one that a function hands out of a table of the
    Python module or from under `functools.cache`. So is a transform of torchaudio's that computes a window or a filter
    bank when it is made, `Resample(rate, 16_000)`, whatever the settings.

    ## Why it is slow
    `module.to(device)` visits every parameter and buffer in Python, also where all of them are on the device. A tensor
    on the host is copied anew at every step, from pageable memory, and the host waits for the copy.

    ## Example
    ```python
    import torch
    from torch import nn

    def train(model: nn.Module, loader, optimizer, device):
        weights = torch.tensor([0.2, 0.3, 0.5])
        for x, y in loader:
            model.to(device)
            x, y = x.to(device, non_blocking=True), y.to(device, non_blocking=True)
            loss = nn.functional.cross_entropy(model(x), y, weight=weights.to(device))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    ```

    ## Use instead
    ```python
    import torch
    from torch import nn

    def train(model: nn.Module, loader, optimizer, device):
        weights = torch.tensor([0.2, 0.3, 0.5], device=device)
        model.to(device)
        for x, y in loader:
            x, y = x.to(device, non_blocking=True), y.to(device, non_blocking=True)
            loss = nn.functional.cross_entropy(model(x), y, weight=weights)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    ```

    ## When it is fine
    Where the module leaves the device again to make room, where each turn has a module of its own, and for changes of
    the dtype:
    ```python
    from torch import nn

    def train(model: nn.Module, teacher: nn.Module, loader, optimizer, device):
        for x, y in loader:
            teacher.to(device)
            target = teacher(x.to(device, non_blocking=True)).detach()
            teacher.to("cpu")
            loss = nn.functional.mse_loss(model(x.to(device, non_blocking=True)), target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    ```

    ## Fix safety
    Unsafe: a module's move that is a statement of the loop goes before it; a loop without turns then moves it as well.
    There is none where the loop sets the device or anything else that the move names, where it uses the module before
    the move, and for tensors.

    ## Confirmed by
    A copy to the device at the line in at least half of the recorded steps. Refuted where the module is there already
    and only its parameters are visited, which costs time on the host that no probe measures.

    ## References
    - PyTorch, `torch.nn.Module.to`.
    - PyTorch tutorial, "A guide on good usage of non_blocking and pin_memory() in PyTorch".
    """

    code, name, since = "TPL208", "moved-in-hot-code", "0.1.0"
    triggers = (".to(", ".cuda(", ".type_as(")
    probes = ("transfers",)
    of_gradients = True

    def check(self, file: SourceFile, project: Project) -> Iterator[Finding]:
        """Yield a finding for each hot move of what was there before."""
        del project
        for site in file.hot_calls("to", "cuda", "type_as"):
            if site.hot is None or site.hot.kind == "data":
                continue
            moved = repeated_move(site)
            if moved is None or is_fallback(site) or (moved.kind == "module" and devices_differ(site)):
                continue
            yield self._finding(file, site, moved)

    def _finding(self, file: SourceFile, site: Site, moved: Repeated) -> Finding:
        assert site.hot is not None and site.receiver is not None
        written = file.brief(site.receiver)
        does, then = _WHAT[moved.kind]
        if moved.kind == "tensor" and isinstance(site.receiver, ast.Subscript):
            written = file.brief(site.receiver.value)
            does, then = f"copies a part of `{written}` from the host", _WHAT["constant"][1]
        return self.found(
            site,
            message=f"`{file.brief(site.call)}` {does} {site.hot.when}",
            instead=then.format(written),
            value=moved.value.weaker(Confidence.POSSIBLE) if site.hot.optional else moved.value,
            hot=site.hot,
            severity=Severity.INFO if site.hot.kind == "eval" or site.hot.optional else None,
            fix=before_the_loop(site) if moved.kind == "module" else None,
            related=[
                file.related(
                    file.path,
                    *file.start(subscript),
                    "a list is copied there as well: index on the host, before the move, and move what is taken",
                    len(file.source(subscript)),
                )
                for subscript in (listed_after_move(site) if moved.kind == "tensor" else ())
            ],
            root_cause=f"{self.code}: {file.brief(site.receiver)} in function {site.function}",
        )

    def confirm(self, finding: Finding, run: Evidence) -> Verdict:
        """By copies to the device at the line."""
        seen = copies(run, finding, "h2d", lambda copy: True)
        return by_events(finding, run, seen, "copy to the device", probes=self.probes)


_WHAT = {
    "module": ("visits every parameter of a module", "move `{}` once, where it is made"),
    "made": ("makes the same module anew and copies it to the device", "make `{}` once, on the device, and keep it"),
    "transform": (
        "computes the tables of a transform on the host and copies them",
        "make `{}` once for each setting, on the device, and keep it",
    ),
    "tensor": ("copies the same tensor from the host", "move `{}` once, before the loop"),
    "sample": (
        "copies from pageable memory what its object keeps there, and waits for it",
        "pin `{}` where the object gets it, `.pin_memory()`, and pass `non_blocking=True` here; or keep it on the "
        "device, if there is room for all",
    ),
    "constant": (
        "copies the same tensor from the host",
        "keep `{}` on the device: as a buffer of the module that uses it, or moved once for each device",
    ),
}
"""What such a move does, and what to do instead."""
