"""What runs once for each call of what a library offers to answer with a model: no loop, and yet whenever it is used.

    class Pipeline:                                   def prepare(self, n, device):
        @torch.no_grad()                                  return torch.zeros(n, 3).to(device)
        def __call__(self, prompt): ... self.prepare(n, device)

Beside what such a call computes one such line is little; readers of whole files asked for a change all the same, or
called it a matter of taste, where the same numbers could be made on the device at once. Only such claims use this.
"""

from __future__ import annotations

from collections.abc import Callable

from torchperf_lint.facts.call_graph.demonstrations import Demonstrations
from torchperf_lint.facts.call_graph.index import Callers, FunctionKey, Index
from torchperf_lint.facts.hotness.hot import Hot, Story, through_call, told
from torchperf_lint.facts.hotness.without_grad import WithoutGrad
from torchperf_lint.facts.roles.cold import is_cold
from torchperf_lint.model import Confidence
from torchperf_lint.patterns import pattern

_ANSWERS = pattern(
    r"^(?:__call__|_?(?:generate|sample|predict|infer|inference|transcribe|translate|synthesi[sz]e|encode|decode|edit|"
    r"invert|segment|detect|separate|enhance|denoise|upscale|embed)(?:_\w+)?)$"
)
"""Methods that answer one request, by their names."""
_SETS = pattern(r"^_?set_")
"""What a request begins with, as a scheduler's `set_timesteps`: readers call it set-up."""
_CALLS = 4
"""How many calls below such a method its work is followed."""


class Served:
    """Answers for one project."""

    def __init__(
        self,
        index: Index,
        without_grad: WithoutGrad,
        callers: Callable[[], Callers],
        unguarded: Callable[[str, int], bool],
        starts_itself: Callable[[str], bool],
    ) -> None:
        self.index = index
        self.without_grad = without_grad
        self._callers = callers
        self._unguarded = unguarded
        self._starts_itself = starts_itself
        self._known: dict[FunctionKey, Hot | None] = {}

    def at(self, path: str, region: int) -> Hot | None:
        """Why the code in a region runs with each request; None where that is not known, or a guard is around."""
        function = self.index.outlines[path].regions[region].function
        if function == 0 or not self._unguarded(path, region):
            return None
        return self.function(FunctionKey(path, function))

    def function(self, key: FunctionKey, calls: int = _CALLS) -> Hot | None:
        """The same of a function."""
        if key not in self._known:
            self._known[key] = None  # functions that call each other end here
            self._known[key] = self._of(key, calls)
        return self._known[key]

    def _of(self, key: FunctionKey, calls: int) -> Hot | None:
        record = self.index.function(key)
        if self._starts_itself(key.path) or Demonstrations.only_shows(key.path) or is_cold(self.index, key, True):
            return None
        if _SETS.search(record.name):
            return None
        if record.class_index >= 0 and _ANSWERS.search(record.name) and self.without_grad.function(key):
            at = (key.path, record.header_line)
            story: Story = (f"`{record.qualname}` (", at, ") computes without gradients, once for each request")
            when = f"for every call of `{record.qualname}`"
            return Hot("request", told(story, key.path), when, Confidence.LIKELY, *at, story=story)
        if not calls:
            return None
        for site in self._callers().get(key, ()):
            if self._unguarded(site.path, site.call.region):
                by = self.function(FunctionKey(site.path, site.call.function), calls - 1)
                if by is not None:
                    caller = self.index.function(FunctionKey(site.path, site.call.function)).qualname
                    return through_call(by, caller, (site.path, site.call.line), key.path)
        return None
