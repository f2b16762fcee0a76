"""TPL853."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace

from torchperf_lint.confirming import unmeasured
from torchperf_lint.evidence import Evidence
from torchperf_lint.facts.call_graph.index import FunctionKey
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.fixes.edits import fix_of
from torchperf_lint.facts.hotness.hot import Hot
from torchperf_lint.facts.syntax.arguments import keyword, literal
from torchperf_lint.facts.syntax.chains import chain
from torchperf_lint.model import Confidence, Finding, Fix, Safety, Verdict
from torchperf_lint.patterns import pattern
from torchperf_lint.rule import SourceRule

_HOOKS = pattern(r"^(?:training_step|on_train_batch_(?:start|end)|on_(?:before|after)_\w+|optimizer_step)$")
"""Where a number is logged for the training step alone, whatever else calls it."""
_EVALUATES = pattern(r"^['\"]?(?:val|valid|validation|test|eval)(?:[_/.\- ]|$)", re.IGNORECASE)
_PHASE = pattern(r"val|test|train|stage|mode|split|phase|prefix", re.IGNORECASE)
_MAX_CALLERS = 8
_ON_STEP = 4
"""Of `on_step` in `log(name, value, prog_bar, logger, on_step, ...)`."""
_TRAINING = "self.training"
"""Given as `on_step`, it holds in every training step."""


class LightningSyncDistOnStep(SourceRule):
    """`self.log(..., sync_dist=True)` for each training step.

    ## What it does
    Flags `log` and `log_dict` of a LightningModule with a literal `sync_dist=True` in `training_step`, the hooks around
    a training batch, and what they call, unless `on_step=False` is passed there: of a training step Lightning logs
    each step by default. A metric of torchmetrics is not reduced by `log`; one device has nothing to reduce.

    ## Why it is slow
    Each such value is reduced over all processes in each step, when it is logged, whether or not the step is one of
    those that are written (every 50th by default): a small collective operation and a barrier for a number that
    nobody sees, one for each entry of a `log_dict`.

    ## Example
    ```python
    import lightning as L
    from torch import nn

    class Classifier(L.LightningModule):
        def __init__(self, net: nn.Module):
            super().__init__()
            self.net = net

        def training_step(self, batch, batch_idx):
            x, y = batch
            loss = nn.functional.cross_entropy(self.net(x), y)
            self.log("train_loss", loss, sync_dist=True)
            return loss
    ```

    ## Use instead
    ```python
    import lightning as L
    from torch import nn

    class Classifier(L.LightningModule):
        def __init__(self, net: nn.Module):
            super().__init__()
            self.net = net

        def training_step(self, batch, batch_idx):
            x, y = batch
            loss = nn.functional.cross_entropy(self.net(x), y)
            self.log("train_loss", loss)
            self.log("train_loss_epoch", loss, on_step=False, on_epoch=True, sync_dist=True)
            return loss
    ```
    The first shows what the first process sees; the second is reduced once an epoch.

    ## When it is fine
    In validation, where numbers are reduced at the end of the epoch:
    ```python
    import lightning as L
    from torch import nn

    class Classifier(L.LightningModule):
        def __init__(self, net: nn.Module):
            super().__init__()
            self.net = net

        def validation_step(self, batch, batch_idx):
            x, y = batch
            self.log("val_loss", nn.functional.cross_entropy(self.net(x), y), sync_dist=True)
    ```

    ## Fix safety
    Unsafe: `sync_dist=True` is removed, and what is logged is the number of the first process alone. There is no fix
    where `on_epoch=True` asks for the mean of an epoch as well, nor in methods that other phases may share.

    ## Confirmed by
    Nothing: no probe tells collective operations apart yet.

    ## References
    - Lightning 2.6 documentation of `LightningModule.log`, `sync_dist`: "Use with care as this may lead to a
      significant communication overhead."
    - Its source, `_ResultMetric.update`: a value with `on_step` is reduced when it is logged.
    """

    code, name, since = "TPL853", "lightning-sync-dist-on-step", "0.1.0"
    triggers = ("sync_dist",)

    def check(self, file: SourceFile, project: Project) -> Iterator[Finding]:
        """Yield a finding for each number that every training step reduces over all processes."""
        del project
        found = [site for site in file.hot_calls("log", "log_dict") if _is_reduced(site.call) and not _is_metric(site)]
        if not found or _has_one_device(file):
            return
        for site in found:
            hot = _training(site)
            if hot is None:
                continue
            own = bool(_HOOKS.match(file.outline.functions[site.function].name))
            doubtful = hot.optional or (not own and _depends_on_phase(site))
            yield self.found(
                site,
                message=f"`{file.brief(site.call)}` reduces over all processes {hot.when}, also for the steps "
                "that are not written",
                instead=_instead(site, own),
                hot=hot,
                confidence=Confidence.POSSIBLE if doubtful else Confidence.LIKELY,
                fix=_fix(site) if own else None,
            )

    def confirm(self, finding: Finding, run: Evidence) -> Verdict:
        """No probe tells collective operations apart."""
        return unmeasured(run, finding.location, "no probe tells collective operations apart")


def _training(site: Site) -> Hot | None:
    """Why training runs a line in every step: its function is hot for that, or one that calls it."""
    hot = site.hot
    if hot is None or hot.evaluates or hot.kind == "step":
        return hot if hot is not None and not hot.evaluates else None
    hotness, key = site.file.project.hotness, FunctionKey(site.file.path, site.function)
    for caller in hotness.callers.get(key, ())[:_MAX_CALLERS]:
        by = hotness.of_region(caller.path, caller.call.region)
        if by is not None and by.kind == "step" and not by.evaluates:
            because = f"{by.because}; it calls `{caller.call.callee}` ({caller.path}:{caller.call.line})"
            return replace(by, because=because, depth=by.depth + 1)
    return None


def _is_reduced(call: ast.Call) -> bool:
    """Whether a call in a training step logs a number for that step and has it reduced there."""
    if len(call.args) > _ON_STEP:
        return False
    if literal(call, "sync_dist") is not True or literal(call, "rank_zero_only") is True:
        return False
    on_step = keyword(call, "on_step")
    for_each_step = on_step is None or literal(call, "on_step") is True or chain(on_step) == _TRAINING
    named = call.args[0] if call.args else keyword(call, "name")
    return for_each_step and not (named is not None and _names_evaluation(named))


def _names_evaluation(name: ast.expr) -> bool:
    """`"val_loss"`, `f"test/{key}"`, and a dictionary of such."""
    if isinstance(name, ast.Dict):
        return any(key is not None and _names_evaluation(key) for key in name.keys)
    if isinstance(name, ast.DictComp):
        return _names_evaluation(name.key)
    first = name.values[0] if isinstance(name, ast.JoinedStr) and name.values else name
    return isinstance(first, ast.Constant) and isinstance(first.value, str) and bool(_EVALUATES.match(first.value))


def _is_metric(site: Site) -> bool:
    """Whether what is logged are objects, `self.accuracy`, which reduce themselves."""
    position = 0 if isinstance(site.call.func, ast.Attribute) and site.call.func.attr == "log_dict" else 1
    given = site.call.args[position] if len(site.call.args) > position else None
    value = given or keyword(site.call, "value") or keyword(site.call, "dictionary")
    parts = value.values if isinstance(value, ast.Dict) else [value]
    return all(
        _is_called(site, part)
        if isinstance(part, ast.Name)
        else isinstance(part, ast.Attribute | ast.Subscript) and _of_self(site, part)
        for part in parts
    )


def _is_called(site: Site, node: ast.Name) -> bool:
    """Whether the function calls what it logs, `metric(predictions, targets)`: an object, and no number."""
    calls = site.file.enclosing(site.function).of_kinds((ast.Call,))
    return any(isinstance(c, ast.Call) and isinstance(c.func, ast.Name) and c.func.id == node.id for c in calls)


def _of_self(site: Site, node: ast.Attribute | ast.Subscript) -> bool:
    root: ast.expr = node
    while isinstance(root, ast.Attribute | ast.Subscript):
        root = root.value
    return isinstance(root, ast.Name) and root.id == "self" and site.file.value(node, site).kind != "tensor"


def _has_one_device(file: SourceFile) -> bool:
    """Whether the trainers that the file makes all use one device."""
    made = [site.call for site in file.calls_of("lightning.Trainer")]
    return bool(made) and all(1 in (literal(call, "devices"), literal(call, "gpus")) for call in made)


def _depends_on_phase(site: Site) -> bool:
    """Whether a method that phases may share logs it in some of them only."""
    parents = site.file.enclosing(site.function).parents
    node: ast.AST = site.call
    while node in parents:
        node = parents[node]
        if isinstance(node, ast.If | ast.IfExp) and _PHASE.search(ast.unparse(node.test)):
            return True
    return False


def _instead(site: Site, own: bool) -> str:
    if not own:
        return "pass `sync_dist=not self.training`, or log the training numbers where `sync_dist` can be left out"
    if literal(site.call, "on_epoch") is True:
        return "add `on_step=False`: it is then reduced once an epoch; log the step's number without `sync_dist`"
    return "leave `sync_dist` out; for a mean over all processes `on_step=False, on_epoch=True, sync_dist=True`"


def _fix(site: Site) -> Fix | None:
    if literal(site.call, "on_epoch") is not False and keyword(site.call, "on_epoch") is not None:
        return None
    return fix_of(site, Safety.UNSAFE, lambda edit: edit.drop_argument(site.call, "sync_dist"))
