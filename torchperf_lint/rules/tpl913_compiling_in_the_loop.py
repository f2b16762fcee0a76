"""TPL913."""

from __future__ import annotations

from collections.abc import Iterator

from torchperf_lint.amounts import ms, percent
from torchperf_lint.bounds import COMPILING, DEFAULT, Bound, Loop, loop_of
from torchperf_lint.compiling import LIMIT, Recompiled, compilations, guarded, recompiled
from torchperf_lint.evidence import Evidence
from torchperf_lint.recorded import Event
from torchperf_lint.rule import RunRule

_MOST = 2


class CompilingInTheLoop(RunRule):
    """`torch.compile` still compiles when the run should be steady, or has given up on a function.

    ## What it does
    Says that compiling takes a share of the steps after the warm-up worth naming, for which functions and for which
    guards; and which functions were compiled so often that torch runs them uncompiled from then on.

    ## Why it is slow
    The step waits while a function is compiled for one more shape or Python value. At the limit
    (`torch._dynamo.config.recompile_limit`, 8 by default) all that compiling has been for nothing.

    ## Example
    ```python
    model = torch.compile(model, dynamic=False)
    for tokens in loader:  # each batch is as long as its longest text
        model(tokens)
    ```

    ## Use instead
    Fewer shapes (texts padded to a few lengths), or `dynamic=True`; values that change in a buffer or a tensor in place
    of a Python number. `TORCH_LOGS=recompiles` prints each reason.

    ## When it is fine
    In a run so short that it never sees the same shape twice.

    ## Fix safety
    Nothing is changed for you.

    ## Confirmed by
    The time that Dynamo says each compilation took, after the warm-up, against the time of the steps.

    ## References
    - PyTorch documentation of `torch.compile`: "Dealing with recompilations", "Dynamic shapes".
    """

    code, name, since = "TPL913", "compiling-in-the-loop", "0.1.0"

    def diagnose(self, run: Evidence) -> Iterator[Bound]:
        """One for the time, and one for what torch compiles no more."""
        loop = loop_of(run)
        if loop is not None and loop.share(COMPILING) >= DEFAULT.named:
            yield self._busy(run, loop)
        refused = compilations(run, LIMIT)
        if refused:
            yield self._given_up(run, refused)

    def _busy(self, run: Evidence, loop: Loop) -> Bound:
        spent, share = loop.ms(COMPILING), loop.share(COMPILING)
        times = sum(event.steady for event in compilations(run) if event.blocked_ms is not None)
        again = [found for found in recompiled(run) if found.steady]
        reasons = "; ".join(f"{found.steady} times {found.told()}" for found in again[:_MOST])
        return Bound(
            self.code,
            self.name,
            f"compiling takes {percent(share)} of the {loop.unit}'s time after the warm-up",
            f"{times} compilation{'s' * (times != 1)} took {ms(spent)} of {ms(loop.total_ms)}"
            f"{f': {reasons}' if reasons else ''}",
            _advice(again[0] if again else None),
            share,
        )

    def _given_up(self, run: Evidence, refused: tuple[Event, ...]) -> Bound:
        named = ", ".join(dict.fromkeys(f"`{event.function}` ({event.path}:{event.line})" for event in refused))
        of_these = {(event.path, event.line) for event in refused}
        again = [found for found in recompiled(run) if (found.path, found.line) in of_these]
        last = next((event for event in refused if event.attributes.get("guard")), None)
        guard = f"; the last reason was `{last.attributes['guard']}`" if last is not None else ""
        at = guarded(last) if last is not None else None
        return Bound(
            self.code,
            self.name,
            f"torch compiles {named} no more: it was compiled too often, and runs uncompiled for new values",
            f"compiled again {sum(found.count for found in again)} times before{guard}{_place(at)}",
            _advice(again[0] if again else None),
        )


def _place(at: tuple[str, int] | None) -> str:
    return f" at {at[0]}:{at[1]}" if at is not None else ""


def _advice(found: Recompiled | None) -> str:
    """By what the guard is about."""
    guard = found.guard or "" if found is not None else ""
    where = f" ({found.at[0]}:{found.at[1]})" if found is not None and found.at is not None else ""
    if "size mismatch" in guard or "shape" in guard or ".size()" in guard:
        return "hand over fewer shapes (pad to a few lengths), or compile with `dynamic=True`, not `dynamic=False`"
    if "___stack" in guard:
        return f"what is read from a tensor is taken for a constant there: keep it a tensor, not `.item()`{where}"
    if " == ..." in guard:
        return f"keep the value out of the compiled function, or in a tensor or buffer{where}"
    if "GLOBAL_STATE" in guard or "grad_mode" in guard or "___check_global_state" in guard:
        return "call it under the same modes each time (gradients, autocast, deterministic algorithms, threads)"
    return f"`TORCH_LOGS=recompiles` prints what changes between calls{where}"
