"""TPL900."""

from __future__ import annotations

from collections.abc import Iterator

from torchperf_lint.amounts import often, percent
from torchperf_lint.bounds import DATA, WAITING, Bound, Loop, breakdown, loop_of
from torchperf_lint.device_use import device_use
from torchperf_lint.evidence import OFTEN_ENOUGH, Evidence
from torchperf_lint.machine import machine_of
from torchperf_lint.rates import per_step
from torchperf_lint.recorded import Event
from torchperf_lint.rule import RunRule
from torchperf_lint.waits import CHECKPOINT


class BoundNotDecided(RunRule):
    """Nothing that was measured says what bounds the run.

    ## What it does
    Stands where no other diagnosis does: it names the numbers that were there, and what was missing to decide.

    ## Why it is slow
    It is not known.

    ## Example
    A run shorter than its warm-up, one that raised before its first step, one without a step, one under `--simulate`,
    or one whose time is spread over many things.

    ## Use instead
    A longer run, or one with a device; the report says which.

    ## When it is fine
    Where nothing is slow.

    ## Fix safety
    Nothing is changed for you.

    ## Confirmed by
    The absence of everything else.

    ## References
    - README, "Limits".
    """

    code, name, since = "TPL900", "bound-not-decided", "0.1.0"

    def diagnose(self, run: Evidence) -> Iterator[Bound]:
        """What is known all the same; asked only where no other rule speaks."""
        loop = loop_of(run)
        if run.raised is not None and not (run.steps or run.requests or run.in_process or (loop and not run.simulated)):
            counts = _counts(run) if run.simulated and run.events else _seen(run)
            yield self._said("the script raised before it trained", f"{run.raised} ({counts})", _RAISED)
        elif run.raised is not None and run.requests is not None and run.requests.calls < OFTEN_ENOUGH:
            yield self._said(f"the script raised after {_seen(run)}", f"{run.raised} ({_counts(run)})", _RAISED)
        elif run.simulated and run.stayed_on_host:
            yield self._said("what it computes stays on the CPU", _counts(run), _ON_HOST)
        elif run.simulated and (run.steps or run.eval_batches or run.requests or run.events):
            yield self._said("times are not measured on a simulated device", _counts(run), _REAL)
        elif loop is not None:
            yield self._said("no part of it stands out", _numbers(run, loop), _deeper(run))
        elif "torch" in run.unwatched:
            yield self._said("nothing was watched", run.unwatched["torch"], "see whether the script imports torch")
        elif run.steps or run.eval_batches or run.requests:
            yield self._said(
                f"the run is shorter than its warm-up of {_counted(run.warmup, _unit(run))}", _seen(run), _LONGER
            )
        else:
            advice = _BY_HAND if run.backwards else _NO_STEP
            yield self._said("no training step and no batch was seen", _seen(run), advice)

    def _said(self, why: str, evidence: str, advice: str) -> Bound:
        return Bound(self.code, self.name, f"not decided: {why}", evidence, advice, actionable=False)


_REAL = "run it without `--simulate` on a machine with a GPU to learn what the counts cost"
_ON_HOST = (
    "where a device is to do it, move the model and each batch to it; else run it without `--simulate`, which tells "
    "without a GPU, too, where the time of a step goes"
)
_RAISED = "mend what it raised, which its standard error tells in full, and run it again"
_LONGER = "let it run longer, or give `--warmup` a smaller number"
_NO_STEP = (
    "a step is a call of an optimizer's `step()`, a batch one of a DataLoader, a request a call of a module: this run "
    "had none of them"
)


_BY_HAND = (
    "a step is a call of an optimizer's `step()`: where parameters are updated by hand, `torch.optim` shows the steps, "
    "and updates all parameters at once"
)


def _unit(run: Evidence) -> str:
    return run.requests.unit if run.requests is not None else "step"


def _seen(run: Evidence) -> str:
    if run.requests is not None:
        return _counted(run.requests.count, run.requests.unit)
    steps, batches = run.steps, run.train_batches + run.eval_batches
    parts = [_counted(steps, "step")] if steps or not batches else []
    parts += [_counted(batches, "batch")] if batches or not steps else []
    by_hand = [_counted(run.backwards, "backward pass")] if run.backwards and not steps else []
    return ", ".join([*parts, *by_hand])


def _counts(run: Evidence) -> str:
    """How often the host would wait and copy."""
    parts = [_counted_of(run, kind, what) for kind, what in (("sync", "synchronisation"), ("copy", "copy"))]
    host = "; all that a step updated is on the CPU" if run.stayed_on_host else ""
    return f"{_seen(run)}; {'; '.join(parts)}{host}"


def _counted_of(run: Evidence, kind: str, what: str) -> str:
    """`282 synchronisations at 13 lines: 4 a step, 36 in evaluation, 166 in some steps or outside of them`.

    A step's are those of the lines that wait in most of them: a checkpoint of each epoch, divided by its steps, would
    be read as the step's own.
    """
    events = [event for event in run.events if event.kind == kind]
    count = sum(event.count for event in events)
    if not count:
        return f"no {what}"
    places: dict[object, list[Event]] = {}
    for event in events:
        places.setdefault((event.path, event.line), []).append(event)
    said = f"{_counted(count, what)} at {_counted(len(places), 'line')}"
    if not run.steps:
        return said
    steady = [event for here in places.values() if run.every_training_step(here) for event in here]
    each = sum(rate for rate in (per_step(event, run) for event in steady) if rate is not None)
    evaluated = sum(_evaluated(event) for event in events)
    rare = {id(event) for event in events} - {id(event) for event in steady}
    saved = sum(e.count for e in events if id(e) in rare and e.attributes.get(CHECKPOINT) and not e.evaluated)
    rest = count - round(each * run.steps) - evaluated - saved
    parts = [f"{often(each)} a step"] if each else []
    parts += [f"{evaluated} in evaluation"] if evaluated else []
    parts += [f"{saved} in saving checkpoints"] if saved else []
    parts += [f"{rest if parts else 'all'} in some steps or outside of them"] if rest > 0 else []
    return f"{said}{', ' if len(parts) == 1 else ': '}{', '.join(parts)}"


def _evaluated(event: Event) -> int:
    """How much of it came in evaluation; of records that do not say so, what came in nothing else."""
    if event.evaluated is not None:
        return event.evaluated
    return event.count if event.eval_turns and not event.train_turns else 0


def _numbers(run: Evidence, loop: Loop) -> str:
    parts = [f"{phase.phase} {percent(phase.share)}" for phase in breakdown(run) or ()]
    text = f"of the {loop.unit}'s time on the host: {', '.join(parts)}"
    if run.device is None:
        return f"{text}; no device took part"
    use = device_use(run)
    if use is None:
        return f"{text}; how busy the device was is not known ({machine_of(run.utilisation).missing('gpu')})"
    if use.steps is not None:
        return f"{text}; in {use.steps} profiled steps some kernel ran {percent(use.share)} of the time"
    return f"{text}; the device ran some kernel {percent(use.share)} of the time (an upper bound of its use)"


def _deeper(run: Evidence) -> str:
    loop = loop_of(run)
    if run.device is None or loop is None:
        return "a profile (torch.profiler, py-spy) shows more than this one does"
    if device_use(run) is None and loop.share(WAITING) > loop.share(DATA):
        return (
            "the host waits for the device: whether that costs anything depends on how busy the device is; measure that"
        )
    return "if the device idles, the host is too slow in launching: look at forward and backward with torch.profiler"


def _counted(number: int, noun: str) -> str:
    plural = {"copy": "copies", "batch": "batches", "backward pass": "backward passes"}.get(noun, f"{noun}s")
    return f"{number} {noun if number == 1 else plural}"
