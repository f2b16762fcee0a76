"""Functions outside of torch's plain ones that give tensors: of its other modules, and of libraries built on it."""

from __future__ import annotations

from functools import lru_cache

from torchperf_lint.patterns import pattern

_BESIDE = ("einops.", "opt_einsum.", "torch_scatter.", "torch.compile", "pytorch_msssim.", "piq.")
"""Modules, and functions of torch, that stand at the top and are told here."""
_ALWAYS = pattern(
    r"^torch\.(?:distributions\.(?:kl\.)?kl_divergence|nn\.utils\.(?:rnn\.)?pad_sequence|ops\.[\w.]+|Tensor\.[a-z]\w*"
    r"|nn\.utils\.(?:convert_parameters\.)?parameters_to_vector)$"
    r"|^mmdet\.(?:\w+\.)+(?:reduce_mean|anchor_inside_flags|bbox2roi)$"
    r"|^trl\.(?:\w+\.)+(?:nan(?:max|min|std)|masked_(?:mean|var|whiten)|selective_log_softmax|entropy_from_logits)$"
)
"""Give a tensor whatever they are given."""
_ON_DEVICE = pattern(r"^nvdiffrast\.torch\.(?:texture|antialias|rasterize|interpolate)$")
"""Work on CUDA alone, and give what they make there: the first two one tensor, the others several."""
_OF_TENSORS = pattern(
    r"^(?:torch\.utils\.checkpoint\.checkpoint|einops\.einsum|opt_einsum\.contract"
    r"|torch_scatter\.\w+|torch_geometric\.(?:utils|nn)\.(?:\w+\.)*[a-z]\w*|torchaudio\.functional\.(?:\w+\.)?\w+"
    r"|torchvision\.transforms\.(?:v2\.)?functional\.(?!get_|to_pil_image|pil_)\w+|kornia\.(?:\w+\.)+[a-z]\w*"
    r"|torchmetrics\.functional\.(?:\w+\.)*\w+|pytorch_msssim\.[a-z]\w*|piq\.(?:\w+\.)*[a-z]\w*"
    r"|mmdet\.(?:\w+\.)+(?:bbox_overlaps|bbox_cxcywh_to_xyxy|bbox_xyxy_to_cxcywh|distance2bbox|bbox2distance"
    r"|inverse_sigmoid|unmap))$"
)
"""Give one where they are given one."""
_SEVERAL = frozenset({"torch.autograd.grad", "torch.autograd.functional.vjp", "torch.autograd.functional.jvp"})
"""Give several, whatever they are given."""
_GIVE_BACK = pattern(
    r"^(?:torch\.jit\.(?:script|trace|freeze|optimize_for_inference)|torch\.compile|torchvision\.ops\.[\w.]+"
    r"|einops\.(?:rearrange|repeat|reduce)|torchvision\.[\w.]+\.normalize)$"
)
"""Give what computes, or lies, as what they are given does: modules, and the same data in another form."""


_MODELS = pattern(
    r"^(?:torch\.nn\.parallel\.(?:distributed\.|data_parallel\.)?(?:DistributedDataParallel|DataParallel)"
    r"|torch\.distributed\.fsdp\.(?:\w+\.)*FullyShardedDataParallel|torch\.hub\.load|timm\.create_model"
    r"|torchvision\.models\.(?:\w+\.)*[a-z]\w*|torchvision\.ops\.[A-Z]\w*|torchaudio\.(?:transforms|models)\.(?:\w+\.)*\w+"
    r"|torchmetrics\.(?:\w+\.)*[A-Z]\w*|(?:lpips|piq|pytorch_msssim|vit_pytorch|x_transformers|vector_quantize_pytorch"
    r"|efficientnet_pytorch|open_clip|sentence_transformers)\.(?:\w+\.)*[A-Z]\w*|open_clip\.create_model"
    r"|einops\.layers\.torch\.[A-Z]\w*|pytorch_metric_learning\.losses\.(?:\w+\.)*[A-Z]\w*)$"
)


SAME, TENSOR, TENSORS, COMPUTED = "same", "tensor", "tensors", "computed"
TENSOR_ON_DEVICE, TENSORS_ON_DEVICE = "tensor on the device", "tensors on the device"


@lru_cache(maxsize=1 << 12)
def gives(dotted: str) -> str:
    """What a function gives: `SAME` as its first argument, a `TENSOR` or several `TENSORS` whatever it is given,
    those that are on the device by their own names, `COMPUTED` from tensors where it is given one; empty for functions
    that are not told here.
    """
    if dotted.count(".") < 2 and not dotted.startswith(_BESIDE):
        return ""
    if _GIVE_BACK.match(dotted):
        return SAME
    if _ON_DEVICE.match(dotted):
        return TENSORS_ON_DEVICE if dotted.endswith(("rasterize", "interpolate")) else TENSOR_ON_DEVICE
    if _ALWAYS.match(dotted):
        return TENSOR
    if dotted in _SEVERAL:
        return TENSORS
    return COMPUTED if _OF_TENSORS.match(dotted) else ""


@lru_cache(maxsize=1 << 12)
def makes_module(dotted: str) -> bool:
    """Whether a call of a class or function of a library gives what computes with tensors: `timm.create_model(...)`.

    Of the classes that projects derive their own from types.py knows.
    """
    return _MODELS.match(dotted) is not None
