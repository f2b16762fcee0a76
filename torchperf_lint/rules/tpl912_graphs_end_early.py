"""TPL912."""

from __future__ import annotations

from collections.abc import Iterator

from torchperf_lint.bounds import Bound
from torchperf_lint.compiling import FIRST, Ending, compilations, endings
from torchperf_lint.evidence import Evidence
from torchperf_lint.rule import RunRule

_MOST = 3


class GraphsEndEarly(RunRule):
    """The graphs of `torch.compile` end in the middle of functions.

    ## What it does
    Names the lines at which Dynamo had to end a graph in this run, with its reasons, and how many pieces it compiled.

    ## Why it is slow
    What stands before and after such a line is compiled apart: nothing is fused across it, each call returns to Python
    there, and guards are checked for each piece. Where a loop or a `with` block holds the line, the whole function
    runs uncompiled.

    ## Example
    ```python
    @torch.compile
    def normalise(x):
        print("largest", x.abs().max().item())
        return torch.tanh(x / x.abs().max())
    ```

    ## Use instead
    Return the value and print it outside, every now and then. `torch.compile(..., fullgraph=True)` makes each break an
    error, and `TORCH_LOGS=graph_breaks` prints them with their tracebacks.

    ## When it is fine
    At the borders of a model that does most of its work in between.

    ## Fix safety
    Nothing is changed for you.

    ## Confirmed by
    Dynamo's own list of graph breaks, by line, and the time it took to compile what is left of a function after one.
    What a call loses at the line is not measured: Python runs there between two pieces of compiled code, and a clock
    in them would change what is compiled. So the share is unknown.

    ## References
    - PyTorch documentation of `torch.compile`: "Working with graph breaks".
    """

    code, name, since = "TPL912", "graphs-end-early", "0.1.0"

    def diagnose(self, run: Evidence) -> Iterator[Bound]:
        """One for all places, the most often compiled first."""
        places = endings(run)
        if not places:
            return
        yield Bound(
            self.code,
            self.name,
            f"compiled code returns to Python at {_count(len(places), 'line')}",
            f"{_told(places)}{_pieces(run)}",
            f"move what ends the graph out of the compiled function, first at {places[0].path}:{places[0].line}; "
            "`fullgraph=True` makes each break an error",
        )


def _told(places: tuple[Ending, ...]) -> str:
    told = "; ".join(place.told() for place in places[:_MOST])
    return f"{told}; and {len(places) - _MOST} more" if len(places) > _MOST else told


def _pieces(run: Evidence) -> str:
    pieces = {(e.path, e.line, e.function) for e in compilations(run, FIRST)}
    resumed = {(e.path, e.line, e.function) for e in compilations(run, FIRST) if e.attributes.get("resumed")}
    if not resumed:
        return ""
    left = f"{len(resumed)} of them what was left of a function after a break"
    return f"; {_count(len(pieces), 'piece')} compiled, {left}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"
