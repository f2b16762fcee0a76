"""Automatic mixed precision: `torch.autocast("cuda")` casts for the device exactly what it casts for a card.

The lists are those of ATen/autocast_mode.h, which torch registers for a card and leaves to the author of any other.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import torch

from torchperf_lint.runtime.simulated.memory import on_device
from torchperf_lint.runtime.simulated.naming import BACKEND

_LOWER = """
_convolution.deprecated _convolution conv1d conv2d conv3d conv_tbc conv_transpose1d conv_transpose2d.input
conv_transpose3d.input convolution prelu addmm addmv addr matmul einsum mm mv linalg_vecdot linear addbmm baddbmm bmm
chain_matmul linalg_multi_dot _thnn_fused_lstm_cell _thnn_fused_gru_cell lstm_cell gru_cell rnn_tanh_cell rnn_relu_cell
_scaled_dot_product_flash_attention scaled_dot_product_attention
"""
_FULL = """
acos asin cosh erfinv exp expm1 log log10 log2 log1p reciprocal rsqrt sinh tan pow.Tensor_Scalar pow.Tensor_Tensor
pow.Scalar softplus layer_norm native_layer_norm rms_norm group_norm frobenius_norm.dim nuclear_norm nuclear_norm.dim
cosine_similarity poisson_nll_loss cosine_embedding_loss nll_loss nll_loss2d hinge_embedding_loss kl_div l1_loss
smooth_l1_loss huber_loss mse_loss margin_ranking_loss multilabel_margin_loss soft_margin_loss triplet_margin_loss
multi_margin_loss binary_cross_entropy_with_logits dist pdist cdist renorm logsumexp upsample_nearest1d
_upsample_nearest_exact1d upsample_nearest2d _upsample_nearest_exact2d upsample_nearest3d _upsample_nearest_exact3d
upsample_linear1d upsample_bilinear2d _upsample_bilinear2d_aa upsample_trilinear3d upsample_bicubic2d
_upsample_bicubic2d_aa norm.Scalar norm.ScalarOpt_dim
"""
_FULL_UNLESS_TYPED = """
prod prod.dim_int softmax.int log_softmax.int cumprod cumsum linalg_vector_norm linalg_matrix_norm
linalg_matrix_norm.str_ord sum sum.dim_IntList
"""
_PROMOTE = "addcdiv addcmul atan2 bilinear cross dot vdot grid_sampler index_put tensordot scatter_add cat stack"
_BANNED = "binary_cross_entropy"

_KEY = "AutocastPrivateUse1"
_HALF = (torch.float16, torch.bfloat16)


def _without_autocast() -> Any:  # noqa: ANN401
    return torch._C._ExcludeDispatchKeyGuard(torch._C.DispatchKeySet(torch._C.DispatchKey.AutocastPrivateUse1))


def _cast(value: Any, dtype: torch.dtype) -> Any:  # noqa: ANN401
    """Device tensors of a floating type other than double take `dtype`; everything else stays."""
    if isinstance(value, torch.Tensor):
        eligible = on_device(value) and value.is_floating_point() and value.dtype != torch.float64
        return value.to(dtype) if eligible else value
    if isinstance(value, list | tuple):
        return type(value)(_cast(item, dtype) for item in value)
    return value


def _casting(op: Any, choose: Callable[[tuple[Any, ...], dict[str, Any]], torch.dtype | None]) -> Callable[..., Any]:  # noqa: ANN401
    def kernel(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        with _without_autocast():
            dtype = choose(args, kwargs)
            if dtype is not None:
                args = tuple(_cast(value, dtype) for value in args)
                kwargs = {name: _cast(value, dtype) for name, value in kwargs.items()}
            return op(*args, **kwargs)

    return kernel


def _lower(args: tuple[Any, ...], kwargs: dict[str, Any]) -> torch.dtype:
    return torch.get_autocast_dtype(BACKEND)


def _full(args: tuple[Any, ...], kwargs: dict[str, Any]) -> torch.dtype:
    return torch.float32


def _widest(args: tuple[Any, ...], kwargs: dict[str, Any]) -> torch.dtype | None:
    tensors = [value for value in _flat((*args, *kwargs.values())) if value.is_floating_point() and on_device(value)]
    return torch.float32 if any(value.dtype == torch.float32 for value in tensors) else None


def _flat(values: Any) -> list[torch.Tensor]:  # noqa: ANN401
    found: list[torch.Tensor] = []
    for value in values:
        if isinstance(value, torch.Tensor):
            found.append(value)
        elif isinstance(value, list | tuple):
            found.extend(_flat(value))
    return found


def _typed(op: Any) -> Callable[..., Any]:  # noqa: ANN401
    """Reductions that take a dtype: computed in float32 unless the caller chose one."""
    names = [argument.name for argument in op._schema.arguments]
    place = names.index("dtype")

    def kernel(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        first = args[0]
        chosen = args[place] if place < len(args) else kwargs.get("dtype")
        with _without_autocast():
            if chosen is None and on_device(first) and first.dtype in _HALF:
                if place < len(args):
                    args = (*args[:place], torch.float32, *args[place + 1 :])
                else:
                    kwargs = {**kwargs, "dtype": torch.float32}
            return op(*args, **kwargs)

    return kernel


def _refuse(*_: Any, **__: Any) -> Any:  # noqa: ANN401
    raise RuntimeError(
        "torch.nn.functional.binary_cross_entropy and torch.nn.BCELoss are unsafe to autocast.\n"
        "Use torch.nn.functional.binary_cross_entropy_with_logits or torch.nn.BCEWithLogitsLoss instead."
    )


def patch_autocast(
    everything: torch.library.Library, library: torch.library.Library, overload: Callable[[str], Any]
) -> None:
    """Register the casts and let "cuda" switch them on and off; what no list names passes through."""
    with contextlib.suppress(RuntimeError):
        everything.fallback(torch.library.fallthrough_kernel, _KEY)
    for names, choose in ((_LOWER, _lower), (_FULL, _full), (_PROMOTE, _widest)):
        for name in names.split():
            if (op := overload(name)) is not None:
                library.impl(name, _casting(op, choose), _KEY)
    for name in _FULL_UNLESS_TYPED.split():
        if (op := overload(name)) is not None:
            library.impl(name, _typed(op), _KEY)
    library.impl(_BANNED, _refuse, _KEY)
    for name in ("set_autocast_enabled", "set_autocast_dtype"):
        _follow(name)


def _follow(name: str) -> None:
    """Settings for "cuda" hold for the device's C++ name, too."""
    original = getattr(torch, name)

    def function(*args: Any) -> None:  # noqa: ANN401
        original(*args)
        if len(args) == 1:
            original(BACKEND, *args)
        elif args[0] == "cuda":
            original(BACKEND, *args[1:])

    setattr(torch, name, function)
