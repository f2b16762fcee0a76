"""Sparse tensors of the device (COO): indices and values are tensors of the device; waits are those of a card.

Read in ATen/native/sparse and ATen/native/sparse/cuda.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from torchperf_lint.runtime.simulated.memory import as_device, as_host
from torchperf_lint.runtime.simulated.naming import BACKEND, as_cuda
from torchperf_lint.runtime.simulated.reports import REPORTS, cannot

_KEYS = torch._C.DispatchKeySet(torch._C.DispatchKey.SparseCPU)

SHARED = (
    *("_coalesced_", "_dimI", "_dimV", "_indices", "_nnz", "_values", "indices", "values", "is_coalesced"),
    *("sparse_dim", "dense_dim", "_sparse_coo_tensor_with_dims", "_sparse_coo_tensor_with_dims_and_tensors"),
    *("empty.memory_format", "empty_like", "sparse_resize_", "sparse_resize_and_clear_", "resize_as_sparse_"),
    *("copy_", "copy_sparse_to_sparse_", "clone", "zero_", "zeros.out"),
    *("add.Tensor", "add_.Tensor", "sub.Tensor", "sub_.Tensor", "neg", "neg_", "neg.out", "div.Tensor", "div_.Tensor"),
    *("mul.Tensor", "mul_.Tensor", "norm.ScalarOpt_dim", "norm.ScalarOpt_dim_dtype"),
    *("native_norm", "native_norm.ScalarOpt_dim_dtype"),
    *("mm", "mv", "cat", "permute", "unsqueeze", "sum", "_to_dense", "pow.Tensor_Scalar", "pow.Tensor_Scalar_out"),
    *("abs", "abs_", "abs.out", "sqrt", "sqrt_", "sqrt.out", "sign", "sign_", "isnan", "relu", "relu_"),
)
"""Operators whose kernel is one and the same for the host and for CUDA: it calls others, on whatever device."""

_NO_KERNEL = "missing kernel for"
"""In what torch says, as of a mistake of its own, where a table of kernels by device lacks ours."""

UNKNOWN = "{} of sparse tensors: what a card waits for in it is not known"


def is_coo(tensor: torch.Tensor) -> bool:
    """Whether it is a sparse tensor of the one kind that is simulated."""
    return bool(tensor.layout == torch.sparse_coo)


def coo_on_host(tensor: torch.Tensor) -> torch.Tensor:
    """A host tensor over the memory of a sparse device tensor's indices and values."""
    return _made(tensor, as_host(tensor._indices()), as_host(tensor._values()), torch.device("cpu"))


def coo_on_device(tensor: torch.Tensor, index: int) -> torch.Tensor:
    """A device tensor over the memory of a sparse host tensor's indices and values."""
    parts = (as_device(tensor._indices(), index), as_device(tensor._values(), index))
    return _made(tensor, *parts, torch.device(BACKEND, index))


def _made(
    like: torch.Tensor,
    indices: torch.Tensor,
    values: torch.Tensor,
    where: torch.device,
    is_coalesced: bool | None = None,
) -> torch.Tensor:
    make = torch.ops.aten._sparse_coo_tensor_with_dims_and_tensors.default
    made: torch.Tensor = make(
        like.sparse_dim(),
        like.dense_dim(),
        like.shape,
        indices,
        values,
        dtype=values.dtype,
        layout=torch.sparse_coo,
        device=where,
        is_coalesced=like.is_coalesced() if is_coalesced is None else is_coalesced,
    )
    return made


def replace_coo(tensor: torch.Tensor, new: torch.Tensor) -> torch.Tensor:
    """What an operator wrote to a sparse tensor of the device."""
    write = torch.ops.aten.copy_sparse_to_sparse_.default
    write.redispatch(_KEYS, tensor, new)
    done: torch.Tensor = torch.ops.aten._coalesced_.default.redispatch(_KEYS, tensor, new.is_coalesced())
    return done


def shared(op: Any) -> Callable[..., Any]:  # noqa: ANN401
    """A kernel for an operator of SHARED. Raises RuntimeError where it calls what only torch's own devices have."""
    wanted = [str(argument.type) for argument in op._schema.arguments]

    def kernel(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        given = [_tensor(value) if kind == "Tensor" else value for kind, value in zip(wanted, args, strict=False)]
        try:
            return op.redispatch(_KEYS, *given, **kwargs)
        except RuntimeError as error:
            raise (cannot(op) if _NO_KERNEL in str(error) else as_cuda(error)) from None

    return kernel


def _tensor(value: Any) -> torch.Tensor:  # noqa: ANN401
    """Torch hands numbers to kernels written in Python as numbers, also where the operator takes tensors."""
    return value if isinstance(value, torch.Tensor) else torch.tensor(value, device="cpu")


def _merges(tensor: torch.Tensor) -> None:
    """Duplicate indices are summed up, and how many are left is read on the host (SparseCUDATensor.cu)."""
    if is_coo(tensor) and not tensor.is_coalesced() and tensor._nnz() > 1:
        REPORTS.sync("coalesce")


def _multiplies(self: torch.Tensor, mat1: torch.Tensor, mat2: torch.Tensor, **_: Any) -> None:  # noqa: ANN401
    _merges(mat1)


def _nothing(*_: Any, **__: Any) -> None:  # noqa: ANN401
    """Neither waits nor copies."""


RULES: dict[str, Callable[..., None]] = {
    "aten::_coalesce": _merges,
    "aten::addmm": _multiplies,
    "aten::addmm_": _multiplies,
    "aten::addmm.out": _multiplies,
    "aten::add.out": _nothing,
    "aten::sparse_mask": _nothing,  # sorts what is not merged, and merges it not
    "aten::_sparse_mask_projection": _nothing,
}
"""What a card waits for in an operator of sparse tensors that runs on the host, by its full name."""


def kernel_of(op: Any, args: tuple[Any, ...]) -> Callable[..., Any] | None:  # noqa: ANN401
    """What runs instead of the host's kernel on sparse tensors of the host, None for nothing."""
    name = op.name()
    both = all(isinstance(given, torch.Tensor) and is_coo(given) for given in args[:2])
    if name == "aten::add.out" and both:
        return _join
    if name == "aten::mul.out" and not both:
        return shared(op)  # by a number, or by a dense tensor: the values alone, or what is looked up for them
    if name == "aten::sparse_mask" and (not both or args[0] is args[1]):
        return shared(op)  # of a dense tensor it is a product; its own mask leaves a tensor as it is
    return None


def _join(self: torch.Tensor, other: torch.Tensor, *, alpha: Any = 1, out: torch.Tensor) -> torch.Tensor:  # noqa: ANN401
    """Put the one behind the other, as a card does, which saves the count; merged where that is more than dense."""
    values = [self._values(), other._values() if alpha == 1 else other._values() * alpha]
    parts = (torch.cat([self._indices(), other._indices()], 1), torch.cat(values).to(out.dtype))
    both = _made(self, *parts, torch.device(BACKEND, self.get_device()), is_coalesced=False)
    return replace_coo(out, both.coalesce() if both._nnz() > both.numel() else both)
