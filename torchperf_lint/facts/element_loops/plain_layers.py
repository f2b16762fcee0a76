"""Layers of torch.nn without parameters."""

from __future__ import annotations

from torchperf_lint.patterns import pattern

_PLAIN_LAYERS = frozenset(
    "Upsample UpsamplingNearest2d UpsamplingBilinear2d AvgPool1d AvgPool2d AvgPool3d MaxPool1d MaxPool2d MaxPool3d "
    "AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveMaxPool2d Flatten Identity PixelShuffle PixelUnshuffle "
    "ReflectionPad2d ReplicationPad2d ZeroPad2d Softmax Softmax2d LogSoftmax Softmin Sigmoid Tanh ReLU ReLU6 LeakyReLU "
    "ELU CELU SELU GELU SiLU Mish Softplus Softsign Hardtanh Hardswish LogSigmoid Dropout Fold Unfold Unflatten "
    "CosineSimilarity PairwiseDistance".split()
)
"""Classes of torch.nn without parameters: what they compute of a batch records nothing."""
_OF_TORCH = pattern(r"^torch\.nn\.(?:modules\.\w+\.)?(\w+)\(\)")


def is_plain_layer(dotted: str) -> bool:
    """Whether what is made by a class of torch.nn has no parameters."""
    made = _OF_TORCH.match(dotted)
    return made is not None and made.group(1) in _PLAIN_LAYERS
