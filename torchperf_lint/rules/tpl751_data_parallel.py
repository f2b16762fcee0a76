"""TPL751."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchperf_lint.confirming import by_events
from torchperf_lint.evidence import Evidence
from torchperf_lint.facts.call_graph.index import FunctionKey
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.models.wrapping import taken_off_again
from torchperf_lint.facts.processes.parallel_wrappers import (
    REPLICATES,
    is_given_a_model,
    told_at_its_calls,
    wrappings_inside,
    wraps,
    wraps_elsewhere,
)
from torchperf_lint.facts.processes.wrapped_for_once import evaluated_name, is_wrapped_for_once
from torchperf_lint.facts.roles.cold import is_cold
from torchperf_lint.facts.syntax.chains import last_part
from torchperf_lint.model import Confidence, Finding, Outcome, Severity, Verdict
from torchperf_lint.rule import SourceRule

_FUNCTION = "torch.nn.parallel.data_parallel"
"""Wraps nothing: it spreads the model over the devices for one call."""
_CALLERS = 2
"""How many calls back it is asked who calls."""
_DISTRIBUTED = ("DistributedDataParallel", "fully_shard", "FullyShardedDataParallel")


_SPREADS = "copies the model to every device in each forward pass and drives them from one process"
_DISTRIBUTE = (
    "start one process a device (torchrun --nproc-per-node=N) and wrap the model in "
    "torch.nn.parallel.DistributedDataParallel(model, device_ids=[local_rank])"
)
_EVALUATES = (
    "to evaluate needs no wrapper: start one process a device (torchrun --nproc-per-node=N), each with the model and a "
    "part of the data; where a call takes one input, nothing is spread, and the model alone does"
)
_LEAVE_OUT = "leave it out, with the `module.` that it puts before the names of the weights"


class DataParallel(SourceRule):
    """`nn.DataParallel` drives all devices from one Python process.

    ## What it does
    Flags construction of `torch.nn.DataParallel`, and calls of `torch.nn.parallel.data_parallel` and
    `torch.nn.parallel.replicate`, which do by hand what it does; and the same of the project's own: classes that derive
    from it or copy it, and functions named like it that give back nothing else. A class that is not in sight counts by
    a name that begins with `DataParallel`, a model and `device_ids`; criteria and strategies do not. Beside an offered
    `DistributedDataParallel` it is reported as info; told one device, it spreads nothing, and is only `possible`. What
    `data_parallel` spreads only to save samples once in a while is not reported, nor a model that is wrapped for a
    single forward pass, nor what stands behind a test for machines without CUDA.

    ## Why it is slow
    Every forward pass copies the weights to all devices, scatters the batch, runs the replicas in threads that share
    one interpreter lock, and gathers all outputs on the first device. `DistributedDataParallel` keeps the weights in
    place and overlaps the exchange of gradients with the backward pass. The PyTorch documentation recommends it even
    on a single machine.

    ## Example
    ```python
    from torch import nn

    def build(model: nn.Module):
        return nn.DataParallel(model).cuda()
    ```

    ## Use instead
    ```python
    import torch
    from torch import nn
    from torch.nn.parallel import DistributedDataParallel

    def build(model: nn.Module, local_rank: int):
        torch.cuda.set_device(local_rank)
        return DistributedDataParallel(model.cuda(local_rank), device_ids=[local_rank])
    ```

    ## When it is fine
    Recognising a wrapped model, or wrapping one for a moment, in order to load or save its weights:
    ```python
    from torch import nn

    def unwrap(model: nn.Module):
        return model.module if isinstance(model, nn.DataParallel) else model

    def load_wrapped(model: nn.Module, state):
        model = nn.DataParallel(model)
        model.load_state_dict(state)
        return model.module
    ```

    ## Fix safety
    There is no automatic fix: DistributedDataParallel needs a launcher (`torchrun --nproc-per-node=N train.py`), a
    process group and a DistributedSampler.

    ## Confirmed by
    Forward passes over two devices or more in at least half of the recorded steps.

    ## References
    - PyTorch documentation of `torch.nn.DataParallel`, its warning.
    - PyTorch notes, "Use nn.parallel.DistributedDataParallel instead of multiprocessing or nn.DataParallel".
    """

    code, name, since = "TPL751", "data-parallel", "0.1.0"
    triggers = ("DataParallel", "data_parallel", "replicate(")
    probes = ("data-parallel",)

    def check(self, file: SourceFile, project: Project) -> Iterator[Finding]:
        """Yield a finding for each construction of DataParallel."""
        own = file.calls_among(call for call in file.outline.calls if wraps(project, file.path, call))
        elsewhere = file.calls_among(c for c in file.outline.calls if wraps_elsewhere(project, file.path, c))
        unseen = [site for site in elsewhere if is_given_a_model(site.call)]
        for site in (*file.calls_of("torch.nn.DataParallel", _FUNCTION, *REPLICATES), *own, *unseen):
            if taken_off_again(file.outline, site.record) or _overrides(file, site):
                continue
            if told_at_its_calls(project, FunctionKey(file.path, site.function)):
                continue
            if file.denotes(site.call.func, site) == _FUNCTION and _runs_seldom(project, file, site):
                continue
            if project.hotness.around.runs_without_cuda(file.path, site.record.region):
                continue  # without a device it only calls the module
            if site.function == 0 and project.hotness.demonstrations.holds(file.path, site.start[0]):
                continue
            if is_wrapped_for_once(site):
                continue
            alone = _one_device(site)
            yield self.found(
                site,
                message=f"`{file.brief(site.call.func)}` "
                + ("is told one device, on which it only calls the model" if alone else _SPREADS),
                instead=_LEAVE_OUT if alone else _EVALUATES if evaluated_name(site) is not None else _DISTRIBUTE,
                severity=Severity.INFO if _offered_beside_better(file) or alone else None,
                confidence=Confidence.POSSIBLE if alone else Confidence.LIKELY if site in unseen else None,
                related=[
                    file.related(path, call.line, call.column, "it is wrapped here", len(call.callee))
                    for path, call in wrappings_inside(project, file.path, site.record)
                ],
            )

    def confirm(self, finding: Finding, run: Evidence) -> Verdict:
        """By forward passes of the module made at the line, or in the factory that it calls, over several devices."""
        if run.simulated:
            return Verdict(Outcome.UNOBSERVABLE, "the simulated device is one device; DataParallel needs two")
        places = (finding.location, *(related.location for related in finding.related))
        seen = [e for place in places for e in run.at(place, "data-parallel")]
        forwards = [e for e in seen if e.what == "forward"]
        spread = [e for e in forwards if (e.attributes.get("devices") or 0) > 1]
        if forwards and not spread and run.device is not None:
            return Verdict(Outcome.REFUTED, "it ran on one device, where it only calls the module")
        verdict = by_events(finding, run, spread, "forward pass over several devices", probes=self.probes)
        if verdict.outcome is Outcome.REFUTED and not seen:
            return Verdict(Outcome.UNOBSERVABLE, "only torch's own class is watched, and none was made there")
        return verdict


def _offered_beside_better(file: SourceFile) -> bool:
    """Whether a file in the same folder wraps in DistributedDataParallel: then this is one of several engines."""
    folder = file.path.rpartition("/")[0]
    beside = (o for path, o in file.project.index.outlines.items() if path.rpartition("/")[0] == folder)
    return any(call.callee.endswith(_DISTRIBUTED) for outline in beside for call in outline.calls)


def _overrides(file: SourceFile, site: Site) -> bool:
    """Whether it is `replicate` of a wrapper of one's own: what constructs that wrapper is the place to change."""
    record = file.outline.functions[site.function]
    return record.class_index >= 0 and record.name == last_part(site.record.callee) == "replicate"


def _runs_seldom(project: Project, file: SourceFile, site: Site) -> bool:
    """Whether one call spreads a model for samples that are saved once in a while, and for nothing else."""
    return site.hot is None and _is_seldom(project, FunctionKey(file.path, site.function), _CALLERS)


def _is_seldom(project: Project, key: FunctionKey, calls: int) -> bool:
    if is_cold(project.index, key):
        return True
    callers = project.hotness.callers.get(key, ())
    return calls > 0 and bool(callers) and all(
        not project.hotness.around.unguarded(caller.path, caller.call.region)
        or _is_seldom(project, FunctionKey(caller.path, caller.call.function), calls - 1)
        for caller in callers
    )


def _one_device(site: Site) -> bool:
    devices = site.keyword("device_ids")
    return isinstance(devices, ast.List) and len(devices.elts) == 1 and not isinstance(devices.elts[0], ast.Starred)
