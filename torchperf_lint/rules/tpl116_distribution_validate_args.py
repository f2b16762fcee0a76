"""TPL116."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchperf_lint.confirming import by_events
from torchperf_lint.evidence import Evidence
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.files.switches import Mark
from torchperf_lint.facts.fixes.edits import fix_of
from torchperf_lint.facts.hotness.hot import place
from torchperf_lint.facts.reads.checked_samples import CheckedSample, checked_samples
from torchperf_lint.facts.reads.normal_draws import Draw, explores, normal_draws
from torchperf_lint.facts.reads.own_constructors import hands_on_checks
from torchperf_lint.facts.reads.own_distributions import asked_within
from torchperf_lint.facts.reads.reads import cause
from torchperf_lint.facts.reads.validating import SWITCH, checked, overwritten, says_so
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.conditions import short, words
from torchperf_lint.facts.values.value import Value
from torchperf_lint.model import Confidence, Finding, Related, Safety, Severity, Verdict
from torchperf_lint.recorded import Event
from torchperf_lint.rule import SourceRule
from torchperf_lint.waits import COPY

_OFF = f"torch.distributions.Distribution.{SWITCH}(False)"


class DistributionValidateArgs(SourceRule):
    """`Normal(mean, std)` of device tensors, with its checks on, in code that runs every step.

    ## What it does
    Flags distributions of `torch.distributions` that are made of device tensors every training step, forward pass or
    evaluation batch (the last is reported as info), where neither the call says `validate_args` nor anything in the
    project calls `set_default_validate_args`: one finding a file, at the first, with the others beside it, since one
    call switches all of them; so are classes of the project that derive from one and leave its constructor as it is,
    `class Discrete(torch.distributions.Categorical)`, and calls by which their own constructor makes what they derive
    from. So is the `log_prob` of a value on the device of what was made before, or of numbers. And assignments to
    `set_default_validate_args`, which switch nothing, and `torch.normal` with a tensor of the device for `std` and no
    `size`, for which there is no switch.

    ## Why it is slow
    The checks are on by default since torch 1.8. For each parameter the device computes whether all its elements are
    valid, and `if not torch._is_all_true(valid)` makes the host wait for the answer; so does each `log_prob` for its
    argument. A `Normal` with one `log_prob` waits three times. `torch.normal(mean, std)` looks whether the smallest
    element of `std` is negative, and the host waits for that as well.

    ## Example
    ```python
    import torch
    from torch import nn
    from torch.distributions import Normal

    class Policy(nn.Module):
        def __init__(self):
            super().__init__()
            self.mean = nn.Linear(64, 8)
            self.log_std = nn.Parameter(torch.zeros(8))

        def forward(self, x: torch.Tensor, action: torch.Tensor):
            mean = self.mean(x.to("cuda"))
            return Normal(mean, self.log_std.exp()).log_prob(action)
    ```

    ## Use instead
    ```python
    import torch
    from torch import nn
    from torch.distributions import Normal

    class Policy(nn.Module):
        def __init__(self):
            super().__init__()
            self.mean = nn.Linear(64, 8)
            self.log_std = nn.Parameter(torch.zeros(8))

        def forward(self, x: torch.Tensor, action: torch.Tensor):
            mean = self.mean(x.to("cuda"))
            return Normal(mean, self.log_std.exp(), validate_args=False).log_prob(action)
    ```
    Or once, where the program starts: `torch.distributions.Distribution.set_default_validate_args(False)`. For
    `torch.normal(mean, std)`: `mean + std * torch.randn_like(mean)`. `Normal.sample()` is a `torch.normal` and waits
    whatever `validate_args` says; `rsample()`, under `torch.no_grad()` where `sample()` stood, draws the same without.

    ## When it is fine
    Priors made once, parameters that are numbers, and checks that somebody asked for:
    ```python
    import torch
    from torch import nn
    from torch.distributions import Independent, Normal

    class Policy(nn.Module):
        def __init__(self, check: bool):
            super().__init__()
            self.check = check
            self.mean = nn.Linear(64, 8)
            self.prior = Normal(torch.zeros(8), torch.ones(8))

        def forward(self, x: torch.Tensor):
            mean = self.mean(x.to("cuda"))
            noise = Normal(0.0, 1.0).sample(mean.shape)
            return Independent(Normal(mean, 1.0, validate_args=self.check), 1), noise
    ```

    ## Fix safety
    Unsafe: without the checks a NaN is no ValueError any more, it goes on into the loss. No fix for assignments to
    the switch: a call there would switch the checks off for the whole program. None where a constructor hands on what
    it was told of the checks, nor for `torch.normal`: which of its tensors has the shape of the result is not seen
    here, and it passes no gradient on, as the arithmetic does unless `mean` and `std` are detached.

    ## Confirmed by
    A synchronisation at the call in at least half of the recorded steps; or several in a row, in a loop of its own.

    ## References
    - PyTorch documentation of `torch.distributions.Distribution.set_default_validate_args`.
    - PyTorch documentation of `torch.normal`: "When std is a CUDA tensor, this function synchronizes its device with
      the CPU"; pytorch/pytorch #51317 of February 2021 brought the check. It is in torch 2.13; #186508 asks for one
      that does not wait.
    - Toni-SM/skrl #233, leggedrobotics/rsl_rl #69, ray-project/ray #50440: libraries that switched the checks off.
    """

    code, name, since = "TPL116", "distribution-validate-args", "0.1.0"
    triggers = ("distributions", "torch.normal(")
    probes = ("host-sync",)

    def check(self, file: SourceFile, project: Project) -> Iterator[Finding]:
        """Yield a finding for each hot distribution or draw that checks its parameters, or switch that is none."""
        for mark in overwritten(file):
            yield self._overwritten(file, mark)
        if not project.must_run_before(1, 9):  # which brought the check
            for draw in normal_draws(file):
                yield self._drawn(file, draw)
        if project.must_run_before(1, 8):  # the checks were off by default
            return
        told: set[ast.AST] = set()
        for site, value in checked(file):
            told.add(site.call)
            yield self._checked(file, site, value)
        for sample in checked_samples(file, told) if file.mentions((".log_prob(",)) else ():
            yield self._sample(file, sample)

    def _checked(self, file: SourceFile, site: Site, value: Value) -> Finding:
        hot = site.hot
        assert hot is not None
        less = hot.kind == "eval" or hot.evaluates or hot.optional
        return self.found(
            site,
            message=f"`{file.brief(site.call)}` checks its parameters on the device, and the host waits for each "
            f"answer {hot.when}; so does each `log_prob` of it",
            instead=f"write `validate_args=False`{_around(site)}, or call `{_OFF}` once at the start",
            value=value.weaker(Confidence.POSSIBLE if hot.optional else Confidence.CERTAIN),
            hot=hot,
            severity=Severity.INFO if less else None,
            root_cause=f"{self.code}: one switch for {file.path}",
            leads=not less,
            related=list(_asked_again(file, site)),
            fix=None
            if hands_on_checks(site.call)
            else fix_of(site, Safety.UNSAFE, lambda edit: edit.set_keyword(site.call, "validate_args", "False")),
        )

    def _sample(self, file: SourceFile, found: CheckedSample) -> Finding:
        hot, at = found.site.hot, place(found.path, found.made.lineno, file.path)
        assert hot is not None
        less = hot.kind == "eval" or hot.evaluates or hot.optional
        return self.found(
            found.site,
            message=f"`{file.brief(found.site.call)}` checks on the device what it is asked for, and the host waits "
            f"for the answer {hot.when}: the distribution ({at}) leaves its checks on",
            instead=f"make it with `validate_args=False`, or call `{_OFF}` once at the start",
            value=found.value.weaker(Confidence.POSSIBLE if hot.optional else Confidence.CERTAIN),
            hot=hot,
            severity=Severity.INFO if less else None,
            root_cause=f"{self.code}: one switch for {file.path}",
            leads=False,
        )

    def _drawn(self, file: SourceFile, draw: Draw) -> Finding:
        hot = draw.site.hot
        assert hot is not None
        less = hot.kind in ("eval", "rollout") or hot.evaluates or hot.optional or explores(draw.site)
        return self.found(
            draw.site,
            message=f"`{file.brief(draw.site.call.func)}` looks for the smallest element of "
            f"`{short(words(draw.deviations))}`, which may not be negative, and waits for the device {hot.when}",
            instead="write `mean + std * noise`, with `noise = torch.randn_like(...)` of what has the shape of the "
            "result: nothing is looked at then",
            value=draw.value,
            hot=hot,
            severity=Severity.INFO if less else None,
            confidence=Confidence.POSSIBLE if hot.optional else None,
            root_cause=cause(draw.site),
        )

    def _overwritten(self, file: SourceFile, mark: Mark) -> Finding:
        node = mark.expression
        assert isinstance(node, ast.Assign)
        target, value = file.source(node.targets[0]), file.source(node.value)
        return self.found(
            mark,
            message=f"`{file.brief(node)}` puts a value in place of the method and switches nothing: distributions "
            "still check their parameters, and the host waits for each answer",
            instead=f"call it: `{target}({value})`",
        )

    def confirm(self, finding: Finding, run: Evidence) -> Verdict:
        """By synchronisations at the calls; they happen inside `torch.distributions`. Its uploads of numbers stay."""
        places = (finding.location, *(related.location for related in finding.related))
        lines = {(place.path, place.line): place for place in places}
        seen = [event for place in lines.values() for event in run.at(place, "sync") if self.explains(event)]
        return by_events(finding, run, seen, "synchronisation" if seen else "check that waits", probes=self.probes)

    def explains(self, event: Event) -> bool:
        """Whether it is the wait for an answer: `Normal(x, 1)` copies the 1 to the device, checked or not."""
        return event.kind == "sync" and event.what != COPY


def _around(site: Site) -> str:
    """That what transforms a distribution checks values for itself: `TransformedDistribution(Normal(...), tanh)`."""
    outer = site.file.enclosing(site.function).parents.get(site.call)
    named = isinstance(outer, ast.Call) and last_part(chain(outer.func)) == "TransformedDistribution"
    checks = named and isinstance(outer, ast.Call) and not says_so(outer)
    return " here and in the `TransformedDistribution` around it, which checks values itself" if checks else ""


def _asked_again(file: SourceFile, site: Site) -> Iterator[Related]:
    """Where the same function asks what it made for the probability of values, which are checked too, or for values."""
    for path, asked in asked_within(site):
        yield file.related(path, *asked, "checks values, and waits for the answer")
    statement = file.enclosing(site.function).statement(site.call)
    targets = statement.targets if isinstance(statement, ast.Assign) and statement.value is site.call else []
    for target in targets:
        if not isinstance(target, ast.Name):
            continue
        told = {f"{target.id}.log_prob": "checks values, and waits for the answer"}
        if last_part(site.record.callee) == "Normal":
            told[f"{target.id}.sample"] = "looks at `scale` once more, whatever the switch says; `rsample()` does not"
        for call in file.calls_among([call for call in file.outline.calls if call.callee in told]):
            if call.function == site.function and call.start > site.start:
                yield file.related(file.path, *call.start, told[call.record.callee])
