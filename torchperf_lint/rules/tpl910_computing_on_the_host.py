"""TPL910."""

from __future__ import annotations

from collections.abc import Iterator

from torchperf_lint.amounts import percent
from torchperf_lint.bounds import BACKWARD, DEFAULT, FORWARD, OPTIMIZER, Bound, Loop, loop_of
from torchperf_lint.evidence import Evidence
from torchperf_lint.rule import RunRule
from torchperf_lint.whole_run import evaluation_of


class ComputingOnTheHost(RunRule):
    """No device took part: the CPU computes the model, and that is what takes the time.

    ## What it does
    Says that forward, backward and optimizer take most of a run that used no CUDA device, or opened one and put nothing
    on it. What it would be bound by on one, this run cannot show.

    ## Why it is slow
    It may be what you want. If a GPU was meant to be used, it was not.

    ## Example
    A script on a machine whose torch was built without CUDA, or `device = "cpu"` left over from a test.

    ## Use instead
    `python -c "import torch; print(torch.version.cuda, torch.cuda.is_available())"` says whether torch could use a GPU.
    `torchperf-lint --runtime --simulate` shows, without one, where a script waits for a device.

    ## When it is fine
    Where the CPU is the target.

    ## Fix safety
    Nothing is changed for you.

    ## Confirmed by
    Host time of the phases of a step; no CUDA device was opened, or one was, all that the optimizers updated is on the
    CPU and nothing was copied.

    ## References
    - PyTorch documentation, "Get started": builds with and without CUDA.
    """

    code, name, since = "TPL910", "computing-on-the-host", "0.1.0"

    def diagnose(self, run: Evidence) -> Iterator[Bound]:
        """One, where the model's own computing takes most of a run without a device."""
        loop = loop_of(run)
        idle = run.stayed_on_host
        if loop is None or (run.device is not None and not idle):
            return
        share = loop.share(FORWARD, BACKWARD, OPTIMIZER)
        if share < DEFAULT.compute:
            return
        device = f"nothing of it was put on the {run.device}" if idle else "no device took part in this run"
        yield Bound(
            self.code,
            self.name,
            f"compute on the CPU takes {percent(share)} of the {loop.unit}'s time; {device}",
            f"{_parts(loop)}{_between(run)}{_build(run)}",
            _MOVE if idle else _SIMULATE,
            share,
            actionable=idle,
            weight=_weight(run, loop),
        )


_SIMULATE = "nothing here tells what a GPU would wait for; `--simulate` shows where the script would wait for one"
_MOVE = "if the GPU was meant: `model.to(\"cuda\")` before the optimizer is made, and each batch likewise"


def _weight(run: Evidence, loop: Loop) -> float:
    """What it stands for beside a single cause: the longest phase, of all that an answer or training takes."""
    between = run.requests.between if run.requests is not None else None
    evaluation = evaluation_of(run)
    rest = (between.share if between is not None else None) or (evaluation.share if evaluation is not None else 0.0)
    return max(loop.share(phase) for phase in (FORWARD, BACKWARD, OPTIMIZER)) * (1 - rest)


def _parts(loop: Loop) -> str:
    parts = [(phase, loop.share(phase)) for phase in (FORWARD, BACKWARD, OPTIMIZER)]
    return ", ".join(f"{phase} {percent(share)}" for phase, share in parts if share)


def _between(run: Evidence) -> str:
    """Where a run that answers was not even asked, its time is not the model's."""
    free = run.requests.idle_share if run.requests is not None else None
    if run.requests is None or free is None or free < DEFAULT.compute:
        return ""
    return f"; but {percent(free)} of the run's time lies between two {run.requests.unit}s, and counts in none"


def _build(run: Evidence) -> str:
    build = run.state.get("build")
    cpu_only = isinstance(build, dict) and "cuda" in build and build["cuda"] is None and not build.get("hip")
    return "; this torch is built without CUDA" if cpu_only else ""
