"""Files that compute with another framework than torch, or on another device than CUDA's: no business of ours."""

from __future__ import annotations

from collections.abc import Iterator

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.outlines.records import Outline
from torchperf_lint.patterns import pattern

_OTHERS = (
    *("jax", "flax", "haiku", "optax", "tensorflow", "keras", "paddle", "mindspore", "mxnet", "mlx", "tinygrad"),
    *("cupy", "chainer", "mygrad"),
)
_TORCH = ("torch", "lightning", "pytorch_lightning", "torchvision", "torchaudio", "functorch")
_ON_TORCH = (
    *("transformers", "diffusers", "accelerate", "peft", "trl", "sentence_transformers", "fastai", "ignite", "skorch"),
    *("ultralytics", "timm", "monai", "kornia", "deepspeed", "composer"),
)
"""Libraries by which a project may train with torch and never import it, beside those that are named for it."""
_NAMED_FOR_TORCH = ("torch", "pytorch")
_DEVICES = pattern(r"(?:^|_)(?:ascend|npu|xpu|hpu|gaudi|tpu|xla|mlu)(?:_|$)")
_CUDA = pattern(r"(?:^|_)(?:gpu|cuda)(?:_|$)")


def computes_without_torch(project: Project, path: str) -> bool:
    """Whether a file imports another framework's arrays, and neither torch nor what hands out its tensors.

    What a module of the project imports that it takes all names of, `from ours.imports import *`, is imported as well.
    A helper that imports nothing of either may well be given tensors, where anything of the project has some.
    """
    found = list(_with_stars(project, path))
    if any(outline.imports_from(*_TORCH) for outline in found):
        return False
    return any(outline.imports_from(*_OTHERS) for outline in found) or project.once(_is_of_another_framework)


def _with_stars(project: Project, path: str) -> Iterator[Outline]:
    """The outline of a file, and those of the project's modules that it takes all names of."""
    index, seen, waiting = project.index, {path}, [path]
    while waiting:
        outline = index.outlines[waiting.pop()]
        yield outline
        for star in outline.stars:
            module = index.module(star, outline.path)
            if module is not None and module not in seen:
                seen.add(module)
                waiting.append(module)


def _is_of_another_framework(project: Project) -> bool:
    """Whether files of the project import another framework, and none imports torch or what is built on it."""
    outlines = project.index.outlines.values()
    others = any(outline.imports_from(*_OTHERS) for outline in outlines)
    return others and not any(outline.imports_from(*_TORCH, *_ON_TORCH) or _is_named(outline) for outline in outlines)


def _is_named(outline: Outline) -> bool:
    return any(name.startswith(_NAMED_FOR_TORCH) for name in (*outline.imports.values(), *outline.stars))


def is_for_another_device(path: str) -> bool:
    """Whether a file, or a folder of the project that it stands in, is named for accelerators that are not CUDA's.

    `ops/_ascend/loss.py`, `strategies/xla.py`; not `gpu_and_npu.py`.
    """
    names = path.removesuffix(".py").split("/")
    return any(_DEVICES.search(name) and not _CUDA.search(name) for name in names)
