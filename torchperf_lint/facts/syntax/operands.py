"""What an operation of torch takes first, `torch.sqrt(x)`, `F.pad(x, (0, 1))`, `x.unsqueeze(0)`: that is a tensor."""

from __future__ import annotations

from collections.abc import Mapping

from torchperf_lint.patterns import pattern

_OPERATION = pattern(r"torch\.(?:(?:nn\.functional|linalg|special|fft)\.)?[a-z]\w*$")
_NONE = pattern(
    r"torch\.(?:tensor|as_\w+|from_\w+|is_\w+|save|load|device|zeros|ones|full|empty|arange|range|eye|rand|randn|randint|"
    r"randperm|linspace|logspace|manual_seed|cat|concat\w*|stack|[hvd]stack|compile|\w*script\w*|set_\w+|get_\w+|"
    r"einsum|block_diag|broadcast_\w+|meshgrid|cartesian_prod|vmap|typename|\w*grad\w*|inference_mode|result_type|"
    r"promote_types|can_cast|use_\w+|numel)$"
)
"""Functions of torch that take numbers, lists, files, functions; and `numel`, which is asked of parameters."""


def takes_a_tensor(callee: str, imports: Mapping[str, str]) -> bool:
    """Whether the first argument of a call of this is the operand of an operation."""
    head, _, rest = callee.partition(".")
    of = imports.get(head)
    if of is None or not of.startswith("torch"):
        return False
    dotted = f"{of}.{rest}" if rest else of
    return _OPERATION.match(dotted) is not None and _NONE.match(dotted) is None
