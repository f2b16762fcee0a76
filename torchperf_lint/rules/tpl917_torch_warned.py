"""TPL917."""

from __future__ import annotations

from collections.abc import Iterator

from torchperf_lint.amounts import line
from torchperf_lint.bounds import Bound
from torchperf_lint.evidence import Evidence
from torchperf_lint.recorded import Event
from torchperf_lint.rule import RunRule
from torchperf_lint.warned import Warned, about

_MOST = 3
_MOST_LETTERS = 120


class TorchWarned(RunRule):
    """Torch itself has warned of something slow in this run.

    ## What it does
    Gathers the warnings about speed that torch, and Lightning, showed in this run, one diagnosis for each kind, with
    the lines that led to them, what to do, and our rule that has more about it.

    ## Why it is slow
    As the warning says. They scroll by among others, once for each place at most, and many are lost in logs.

    ## Example
    ```python
    batch = torch.tensor([image.numpy() for image in images])
    # UserWarning: Creating a tensor from a list of numpy.ndarrays is extremely slow.
    ```

    ## Use instead
    ```python
    batch = torch.stack(images)
    ```

    ## When it is fine
    Where the line runs once, at the start. Of a simulated run nothing is said of more workers than cores: those of the
    machine that simulates tell nothing of the one with the GPU.

    ## Fix safety
    Nothing is changed for you.

    ## Confirmed by
    The warning, as the script's own filters let it through. How much time it is about is not measured.

    ## References
    - torch's sources, named with each text in `torchperf_lint/warned.py`.
    """

    code, name, since = "TPL917", "torch-warned", "0.1.0"

    def diagnose(self, run: Evidence) -> Iterator[Bound]:
        """One for each kind of warning."""
        kinds: dict[Warned, list[Event]] = {}
        for event in run.events:
            kind = about(str(event.attributes.get("text") or "")) if event.kind == "warning" else None
            if kind is not None and not (run.simulated and kind.of_machine):
                kinds.setdefault(kind, []).append(event)
        for kind, events in kinds.items():
            more = f" (more: {kind.code})" if kind.code is not None else ""
            yield Bound(
                self.code,
                self.name,
                f"torch warned: {kind.title}",
                f'"{_shortened(str(events[0].attributes["text"]))}" {_where(events)}',
                f"{kind.advice}{more}",
                actionable=not kind.to_know,
            )


def _shortened(text: str) -> str:
    return text if len(text) <= _MOST_LETTERS else f"{text[:_MOST_LETTERS].rstrip()}..."


def _where(events: list[Event]) -> str:
    places = dict.fromkeys(_place(event) for event in events)
    named = ", ".join(list(places)[:_MOST])
    more = f" and {len(places) - _MOST} more" if len(places) > _MOST else ""
    times = sum(event.count for event in events)
    return f"shown {'once' if times == 1 else f'{times} times'} for {named}{more}"


def _place(event: Event) -> str:
    return line(*(event.via or (event.path or None, event.line)))
