"""What an operation of torch takes first, `torch.sqrt(x)`, `F.pad(x, (0, 1))`, `x.unsqueeze(0)`: that is a tensor."""

from __future__ import annotations

import ast
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


def operand(node: ast.Call, callee: str, imports: Mapping[str, str]) -> str:
    """The name of the first operand of an operation; empty for any other call."""
    if not node.args or not isinstance(node.args[0], ast.Name):
        return ""
    head, _, rest = callee.partition(".")
    dotted = f"{imports.get(head, '')}.{rest}" if rest else imports.get(head, "")
    known = dotted.startswith("torch") and _OPERATION.match(dotted) and not _NONE.match(dotted)
    return node.args[0].id if known else ""
