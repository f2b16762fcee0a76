"""TPL311."""

from __future__ import annotations

from collections.abc import Iterator

from torchperf_lint.amounts import percent
from torchperf_lint.bounds import Bound
from torchperf_lint.evidence import Evidence
from torchperf_lint.loading import Loading, loading_of
from torchperf_lint.rule import RunRule


class CpuAugmentationBound(RunRule):
    """Workers compute on all the cores there are, and batches still come late.

    ## What it does
    Says that training waits for data, that the workers spend that time computing (decoding, augmenting, collating), and
    that the cores do not allow as many workers as would be needed.

    ## Why it is slow
    The cores make fewer batches a second than training could use. More workers would only share the same cores.

    ## Example
    Full-size images decoded, resized and augmented by eight workers on four cores.

    ## Use instead
    Less work for each sample: smaller stored images, decoding and cropping before the float conversion, transforms on
    the device (torchvision.transforms.v2 on a batch, Kornia), GPU decoding (NVIDIA DALI), or what is the same in every
    pass done once and stored.

    ## When it is fine
    Where the machine can have more cores for the same price as the work.

    ## Fix safety
    Nothing is changed for you. Other decoders and resizing on the device change pixels slightly.

    ## Confirmed by
    Wait / step, the workers' CPU time against their wall time, and the cores that the run may use.

    ## References
    - NVIDIA DALI documentation.
    - torchvision documentation, "Transforming images": performance considerations.
    """

    code, name, since = "TPL311", "cpu-augmentation-bound", "0.1.0"

    def diagnose(self, run: Evidence) -> Iterator[Bound]:
        """One, where cores are what is short for making batches."""
        loading = loading_of(run)
        if loading is None or not loading.workers or not _fills_cores(loading) or loading.cpu_share is None:
            return
        yield Bound(
            self.code,
            self.name,
            f"{loading.waits()}: {loading.worker_words()} compute, and the cores allow no more",
            f"a fetch computes, or waits for a core, {percent(loading.cpu_share)} of its time; {loading.figures()}",
            loading.at_once() or f"{loading.cheaper()} ({loading.place}): {_ways(loading)}",
            loading.share,
        )


def _ways(loading: Loading) -> str:
    making = loading.making
    if making is not None and making.most is not None and making.most == making.collate:
        return "whole arrays instead of loops over samples (`pad_sequence`), or on the device"
    return (
        "smaller stored images, transforms on the device, GPU decoding (DALI), or work that is the same in every pass "
        "done once and stored"
    )


def _fills_cores(loading: Loading) -> bool:
    if loading.sleeps or loading.enough or loading.cap is None:
        return False
    return loading.cap <= loading.workers or loading.capped
