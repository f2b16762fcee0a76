"""What torch has for functions of numpy, scipy, OpenCV, scikit-image and PIL, on whatever device a tensor is.

Where a name differs, or its default does: `numpy.median` averages the two in the middle, `torch.median` does not.
"""

from __future__ import annotations

_OF_ONE_NAME = (
    "abs all amax amin any arccos arcsin arctan arctan2 argmax argmin argsort argwhere bincount "
    "broadcast_to ceil clip cos cosh cov corrcoef cross cumprod cumsum diag diagonal diff dot einsum exp expm1 flip "
    "fliplr flipud floor fmod gradient hstack hypot isfinite isin isinf isnan kron log log10 log1p log2 logaddexp "
    "logical_and logical_not logical_or logical_xor matmul maximum mean meshgrid minimum moveaxis nan_to_num nanmean "
    "nansum nonzero outer prod quantile ravel remainder reshape roll rot90 round searchsorted sign sin sinh sort sqrt "
    "square squeeze stack sum tan tanh tensordot tile trace tril triu trunc vander vstack where"
).split()
_LINALG = "cholesky det eigh eigvalsh inv lstsq matrix_power matrix_rank norm pinv qr slogdet solve svd".split()
_FFT = "fft fft2 fftn fftshift ifft ifft2 ifftn ifftshift irfft irfft2 irfftn rfft rfft2 rfftn".split()

_RENAMED = {
    "array_split": "torch.tensor_split",
    "concatenate": "torch.cat",
    "digitize": "torch.bucketize",
    "expand_dims": "unsqueeze",
    "flatnonzero": "torch.nonzero",
    "histogram": "torch.histc",
    "max": "torch.amax",
    "median": "torch.quantile(..., 0.5)",
    "min": "torch.amin",
    "pad": "torch.nn.functional.pad",
    "partition": "torch.kthvalue",
    "argpartition": "torch.topk",
    "percentile": "torch.quantile",
    "power": "torch.pow",
    "repeat": "torch.repeat_interleave",
    "std": "torch.std(..., correction=0)",
    "swapaxes": "torch.transpose",
    "take": "torch.index_select",
    "take_along_axis": "torch.take_along_dim",
    "transpose": "permute",
    "var": "torch.var(..., correction=0)",
    "random.binomial": "torch.binomial",
    "random.choice": "torch.multinomial",
    "random.normal": "torch.normal",
    "random.permutation": "torch.randperm",
    "random.poisson": "torch.poisson",
    "random.shuffle": "torch.randperm",
}
_KERNEL = "torch.nn.functional.conv2d"
_OTHERS = {
    "scipy.special.erf": "torch.erf",
    "scipy.special.expit": "torch.sigmoid",
    "scipy.special.gammaln": "torch.lgamma",
    "scipy.special.log_softmax": "torch.log_softmax",
    "scipy.special.logit": "torch.logit",
    "scipy.special.logsumexp": "torch.logsumexp",
    "scipy.special.softmax": "torch.softmax",
    "scipy.ndimage.binary_dilation": "torch.nn.functional.max_pool2d",
    "scipy.ndimage.convolve": _KERNEL,
    "scipy.ndimage.gaussian_filter": _KERNEL,
    "scipy.ndimage.maximum_filter": "torch.nn.functional.max_pool2d",
    "scipy.ndimage.uniform_filter": "torch.nn.functional.avg_pool2d",
    "scipy.ndimage.zoom": "torch.nn.functional.interpolate",
    "skimage.transform.resize": "torch.nn.functional.interpolate",
    "cv2.GaussianBlur": _KERNEL,
    "cv2.blur": "torch.nn.functional.avg_pool2d",
    "cv2.dilate": "torch.nn.functional.max_pool2d",
    "cv2.filter2D": _KERNEL,
    "cv2.flip": "torch.flip",
    "cv2.remap": "torch.nn.functional.grid_sample",
    "cv2.resize": "torch.nn.functional.interpolate",
    "cv2.warpAffine": "torch.nn.functional.grid_sample",
    "PIL.Image.fromarray": "torchvision.transforms.v2",
}


def counterpart(function: str) -> str | None:
    """What to write in torch instead of a function, by its full name; None where nothing is known to do it."""
    library, _, name = function.partition(".")
    if library != "numpy":
        return _OTHERS.get(function)
    within, _, last = name.rpartition(".")
    if within == "linalg":
        return f"torch.linalg.{last}" if last in _LINALG else None
    if within == "fft":
        return f"torch.fft.{last}" if last in _FFT else None
    return f"torch.{name}" if name in _OF_ONE_NAME else _RENAMED.get(name)
