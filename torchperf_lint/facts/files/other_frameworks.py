"""Files that compute with another framework than torch, or on another device than CUDA's: no business of ours."""

from __future__ import annotations

from torchperf_lint.facts.outlines.records import Outline
from torchperf_lint.patterns import pattern

_OTHERS = ("jax", "flax", "haiku", "optax", "tensorflow", "keras", "paddle", "mindspore", "mxnet", "mlx", "tinygrad")
_TORCH = ("torch", "lightning", "pytorch_lightning", "torchvision", "torchaudio", "functorch")
_DEVICES = pattern(r"(?:^|_)(?:ascend|npu|xpu|hpu|gaudi|tpu|xla|mlu)(?:_|$)")
_CUDA = pattern(r"(?:^|_)(?:gpu|cuda)(?:_|$)")


def computes_without_torch(outline: Outline) -> bool:
    """Whether a file imports another framework's arrays, and neither torch nor what hands out its tensors.

    A helper that imports nothing of either may well be given tensors.
    """
    return outline.imports_from(*_OTHERS) and not outline.imports_from(*_TORCH)


def is_for_another_device(path: str) -> bool:
    """Whether a file, or a folder of the project that it stands in, is named for accelerators that are not CUDA's.

    `ops/_ascend/loss.py`, `strategies/xla.py`; not `gpu_and_npu.py`.
    """
    names = path.removesuffix(".py").split("/")
    return any(_DEVICES.search(name) and not _CUDA.search(name) for name in names)
