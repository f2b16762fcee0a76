"""TPL324."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchperf_lint.confirming import unmeasured
from torchperf_lint.evidence import Evidence
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.loaders.passes import known_loader
from torchperf_lint.facts.roles.cold import NOT_TRAINING_NAME
from torchperf_lint.facts.values.value import Value
from torchperf_lint.model import Confidence, Finding, Severity, Verdict
from torchperf_lint.patterns import pattern
from torchperf_lint.rule import SourceRule

_LISTED = pattern(r"\b(?:list|tuple)\(\s*[\w.]+\s*\)")


class CachedLoaderCycle(SourceRule):
    """`itertools.cycle(loader)` and `list(loader)`: every batch of a pass kept in memory.

    ## What it does
    Flags `itertools.cycle` of a DataLoader, and `list` or `tuple` of one where a loop walks the result, where it is
    only counted, or where it is made again in each turn of a loop. A list that is made once and kept may be meant so:
    that is `possible` only, and not shown by default.

    ## Why it is slow
    `itertools.cycle` keeps each batch of the first pass for ever, so memory grows to the size of the whole data set,
    pinned where the loader pins. From the second pass on it replays the kept batches: no new order, no new
    augmentations, and the loader's workers are never asked again. `list(loader)` makes all batches before the first is
    used, so nothing overlaps with the steps.

    ## Example
    ```python
    import itertools

    from torch import nn
    from torch.utils.data import DataLoader

    def train(model: nn.Module, dataset, optimizer, criterion, steps, device):
        loader = DataLoader(dataset, batch_size=64, shuffle=True, num_workers=4, pin_memory=True)
        batches = itertools.cycle(loader)
        for _ in range(steps):
            x, y = next(batches)
            loss = criterion(model(x.to(device, non_blocking=True)), y.to(device, non_blocking=True))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    ```

    ## Use instead
    ```python
    from torch import nn
    from torch.utils.data import DataLoader

    def endless(loader):
        while True:
            yield from loader

    def train(model: nn.Module, dataset, optimizer, criterion, steps, device):
        loader = DataLoader(dataset, batch_size=64, shuffle=True, num_workers=4, pin_memory=True)
        batches = endless(loader)
        for _ in range(steps):
            x, y = next(batches)
            loss = criterion(model(x.to(device, non_blocking=True)), y.to(device, non_blocking=True))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    ```

    ## When it is fine
    For what is no loader: lists of loaders, colours, learning rates; and for a few batches on purpose:
    ```python
    import itertools

    from torch.utils.data import DataLoader

    def some(loader: DataLoader, loaders: list):
        first_ten = list(itertools.islice(loader, 10))
        for one in itertools.cycle(loaders):
            yield one, first_ten
    ```

    ## Fix safety
    There is no automatic fix yet: with a new pass each time, the order and the augmentations differ between passes.

    ## Confirmed by
    Nothing yet: no probe measures what the kept batches take. That the line did not run is reported.

    ## References
    - Python documentation, `itertools.cycle`: saves a copy of each item.
    - pytorch/pytorch #23900.
    """

    code, name, since = "TPL324", "cached-loader-cycle", "0.1.0"
    triggers = ("cycle(", "list(", "tuple(")

    def check(self, file: SourceFile, project: Project) -> Iterator[Finding]:
        """Yield a finding for each loader whose batches are kept."""
        del project
        if not file.mentions(("oader", "_dl", "dl)")):
            return
        for site in self._candidates(file):
            held = site.call.args[0] if len(site.call.args) == 1 and not site.call.keywords else None
            name = file.outline.functions[site.function].name
            if held is None or NOT_TRAINING_NAME.search(name) or name.startswith("test_"):
                continue
            value = known_loader(site, held)
            if value is not None:
                yield self._finding(site, held, value)

    def confirm(self, finding: Finding, run: Evidence) -> Verdict:
        """By nothing yet; that the line did not run can be told."""
        return unmeasured(run, finding.location, "no probe measures what kept batches take")

    def _candidates(self, file: SourceFile) -> Iterator[Site]:
        if file.mentions(("cycle(",)):
            yield from file.calls_of("itertools.cycle")
        listed = (
            c for c in file.outline.calls if c.callee in ("list", "tuple") and _LISTED.search(file.lines[c.line - 1])
        )
        for site in file.calls_among(listed):
            if (file.denotes(site.call.func, site) or "").startswith("builtins."):
                yield site

    def _finding(self, site: Site, held: ast.expr, value: Value) -> Finding:
        file, call, loader = site.file, site.file.brief(site.call), site.file.brief(held)
        told = "" if value.confidence is Confidence.CERTAIN else f" (`{loader}` is a DataLoader by its name)"
        if site.record.callee in ("list", "tuple"):
            wasteful = _walked_or_counted(site) or any(True for _ in _loops_around(site))
            return self.found(
                site,
                message=f"`{call}` makes all batches of a pass before the first is used and holds them in memory{told}",
                instead=f"loop over `{loader}` itself; for their number `len({loader})`, for a few of them "
                f"`itertools.islice({loader}, n)`",
                severity=None if wasteful else Severity.INFO,
                confidence=value.confidence if wasteful else Confidence.POSSIBLE,
            )
        return self.found(
            site,
            message=f"`{call}` keeps every batch of the first pass in memory and replays them, in the same order and "
            f"with the same augmentations{told}",
            instead="begin a new pass each time: `def endless(loader):` / `while True:` / `yield from loader`, and "
            f"iterate `endless({loader})`",
            confidence=value.confidence,
            related=[file.related(*origin, "makes the loader") for origin in value.origins[:5]],
        )


def _walked_or_counted(site: Site) -> bool:
    """Whether a loop or comprehension walks what the call makes, or `len` counts it."""
    node: ast.AST = site.call
    for parent in site.file.enclosing(site.function).ancestors(site.call):
        if isinstance(parent, ast.For | ast.AsyncFor | ast.comprehension):
            return parent.iter is node
        if isinstance(parent, ast.Call) and isinstance(parent.func, ast.Name) and parent.func.id == "len":
            return True
        node = parent
    return False


def _loops_around(site: Site) -> Iterator[int]:
    """The loops of the function whose bodies the call stands in, by their regions."""
    regions, index = site.file.outline.regions, site.record.region
    while index >= 0 and regions[index].kind != "function":
        if regions[index].kind == "loop":
            yield index
        index = regions[index].parent
