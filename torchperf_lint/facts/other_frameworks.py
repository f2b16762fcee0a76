"""Files that compute with another framework than torch: what they read and loop over are that one's arrays."""

from __future__ import annotations

from torchperf_lint.facts.records import Outline

_OTHERS = ("jax", "flax", "haiku", "optax", "tensorflow", "keras", "paddle", "mindspore", "mxnet", "mlx", "tinygrad")
_TORCH = ("torch", "lightning", "pytorch_lightning", "torchvision", "torchaudio", "functorch")


def computes_without_torch(outline: Outline) -> bool:
    """Whether a file imports another framework's arrays, and neither torch nor what hands out its tensors.

    A helper that imports nothing of either may well be given tensors.
    """
    return outline.imports_from(*_OTHERS) and not outline.imports_from(*_TORCH)
