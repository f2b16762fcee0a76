"""Files that say of their own code that it runs on an accelerator, by what they call, import and ask for."""

from __future__ import annotations

import re

from torchperf_lint.facts.outlines.cuda_types import names_cuda_types
from torchperf_lint.facts.outlines.records import Outline
from torchperf_lint.facts.syntax.chains import last_part
from torchperf_lint.patterns import pattern

_FRAMEWORKS = (
    "lightning",
    "pytorch_lightning",
    "accelerate",
    "transformers",
    "ignite",
    "fastai",
    "deepspeed",
    "catalyst",
)
_DEVICE_CALLS = {"cuda", "to", "to_device", "device", "set_device"}
_PREPARES = pattern(r"(?:accelerator|fabric)\w*\.prepare$", re.IGNORECASE)


def mentions_device(outline: Outline) -> bool:
    """Whether a file moves something to an accelerator, leaves that to a framework, or asks where tensors are."""
    names = {last_part(call.callee): call.callee for call in outline.calls}
    if not names.keys().isdisjoint(_DEVICE_CALLS) or names_cuda_types(outline):
        return True
    if "is_available" in names and any(_asks_for_device(outline, call.callee) for call in outline.calls):
        return True
    if "prepare" in names and any(_PREPARES.search(call.callee) for call in outline.calls):
        return True
    imported = {name.partition(".")[0] for name in outline.imports.values()}
    if not imported.isdisjoint(_FRAMEWORKS):
        return True
    # Who asks a tensor for its device, to make another beside it, expects that not to be the host.
    return "torch" in imported and any(mention.kind == "device" for mention in outline.mentions)


def _asks_for_device(outline: Outline, callee: str) -> bool:
    """`torch.cuda.is_available()`; of `torch.distributed` it asks for something else."""
    owner, _, name = callee.rpartition(".")
    head, _, rest = owner.partition(".")
    return name == "is_available" and "distributed" not in f"{outline.imports.get(head, head)}.{rest}"
