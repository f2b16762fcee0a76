"""Products of matrices of integers, which CUDA has no kernels for: what is multiplied so has to stay on the host.

`torch.matmul` of int32 or int64 tensors raises `"addmm_cuda" not implemented for 'Int'` there and works on the CPU
(pytorch/pytorch #44428, open since 2020).
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.syntax.arguments import keyword
from torchperf_lint.facts.syntax.chains import chain, last_part

_PRODUCTS = frozenset("matmul mm bmm mv addmm baddbmm einsum tensordot".split())
_INTEGERS = frozenset("uint8 int8 int16 int32 int64 short int long".split())


def multiplies(node: ast.expr) -> bool:
    """Whether an expression is a product of matrices."""
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, ast.MatMult)
    return isinstance(node, ast.Call) and last_part(chain(node.func)) in _PRODUCTS


def holds_integers(factory: ast.Call) -> bool:
    """Whether a factory is asked for integers: `torch.ones(n, dtype=torch.int32)`."""
    dtype = keyword(factory, "dtype")
    return dtype is not None and last_part(chain(dtype)) in _INTEGERS
