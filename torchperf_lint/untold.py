"""Which of the things that a simulated device cannot do leave every count whole: figures that it has not. Torch-free.

    torch.cuda.max_memory_allocated()   no figure, and no wait or copy that is missing
    torch.compile(model)                runs uncompiled: what waits and copies is that of other code
"""

from __future__ import annotations

NO_MEMORY = "the memory figures of torch.cuda: the simulated device does not track its memory"
NO_TIME = "Event.elapsed_time: the simulated device measures no time; the host's was returned"
NO_EFFECT = "torch.cuda.cudart().{} does nothing under simulation"
_FIGURES = {NO_MEMORY, NO_TIME, *map(NO_EFFECT.format, ("cudaProfilerStart", "cudaProfilerStop"))}


def counts_without(what: str) -> bool:
    """Whether counts are exact though the simulation "cannot do this: `what`"."""
    return what in _FIGURES
