"""Files that speak of CUDA by the types of its tensors alone: `dtype = torch.cuda.FloatTensor`, as old code does."""

from __future__ import annotations

from itertools import chain

from torchperf_lint.facts.outlines.records import Outline

_OF_CUDA = "torch.cuda."


def names_cuda_types(outline: Outline) -> bool:
    """Whether a file makes tensors of such a type, or gives one a name."""
    named = chain((binding.value for binding in outline.bindings), (call.callee for call in outline.calls))
    return any(name.startswith(_OF_CUDA) and name.endswith("Tensor") for name in named)
