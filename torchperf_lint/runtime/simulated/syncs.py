"""Operators for which a card makes the host wait inside its kernel, and how often (read in ATen/native/cuda).

What waits because its composite kernel calls `.item()` or a copy needs no entry: that kernel runs here, too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from torchperf_lint.runtime import anomaly
from torchperf_lint.runtime.simulated import indexing
from torchperf_lint.runtime.simulated.gradients import asking, without_a_wait
from torchperf_lint.runtime.simulated.memory import on_device
from torchperf_lint.runtime.simulated.reports import REPORTS
from torchperf_lint.waits import IN_SEARCH

Rule = Callable[..., None]

UNDECIDED = {
    "ctc_loss": "reports the lengths' copies; the card's kernel copies three small tables more (cuDNN's none)",
    "embedding(max_norm=)": "the card counts the distinct rows on the host; reported as one sync",
    "unique(dim=)": "thrust waits inside calls that torch's own callbacks do not see; reported as one sync",
    "linalg.svd, eigh, lstsq": "the card's solvers check convergence on the host, some more than once; one sync",
    "isin": "sorts, and waits twice, where the tested set is large; the card's limit is applied",
    "masked_scatter, sort, topk, median, cumsum, randperm": "no wait that torch's callbacks see; none reported",
    "coalesce()": "thrust waits for the count of distinct indices in a call that torch's own callbacks do not see; one",
    "products of two sparse tensors and other rare operators of theirs": "run, and named as not known to wait or not",
    "nested and quantised tensors, sparse ones other than COO": "not simulated; using one is named as unsupported",
}
"""What could not be decided from the source alone, and what is done about it."""

BESIDE = {
    "torch.device(0)": "an index without a type is resolved in C++ and names the spare backend; `.to(0)` is right",
    "torch.Stream, torch.Event": "the generic classes refuse CUDA devices; those of torch.cuda work",
    "kernels in half precision": "a few that a card has and the host lacks (avg_pool3d, margin losses) are refused",
    "torch.rand and kin": "numbers are the host's for the same seed, not a card's",
    "a process with several devices": "there is one device; cuda:1 is an invalid ordinal",
}
"""Where the simulation differs from a card in other ways than its waits and copies."""


def _waits(what: str, times: int = 1) -> Rule:
    def rule(*_: Any, **__: Any) -> None:  # noqa: ANN401
        for _time in range(times):
            REPORTS.sync(what)

    return rule


def _waits_on_some(what: str) -> Rule:
    def rule(self: torch.Tensor, *_: Any, **__: Any) -> None:  # noqa: ANN401
        if self.numel():
            REPORTS.sync(what)

    return rule


def _item(self: torch.Tensor) -> None:
    # What autograd asks of each gradient in this mode is a boolean, and no line of Python asks for it.
    asked = self.dtype is torch.bool and anomaly.looks_for_nan(torch) and anomaly.is_of_engine(asking())
    if not _of_the_host_alone():
        REPORTS.sync(IN_SEARCH if asked else "item")


def _of_the_host_alone() -> bool:
    """Whether a backward formula that a card does not take asks, and no hook of the script's within it."""
    return without_a_wait() and anomaly.is_of_engine(asking())


def _equal(self: torch.Tensor, other: torch.Tensor) -> None:
    same = self.data_ptr() == other.data_ptr() and self.stride() == other.stride()
    if self.shape == other.shape and self.numel() and not same:
        REPORTS.sync("equal")


def _bincount(self: torch.Tensor, *_: Any, **__: Any) -> None:  # noqa: ANN401
    if self.numel():
        for _extreme in range(1 if self.dtype == torch.uint8 else 2):
            REPORTS.copy("d2h", self.element_size())


def _histc(self: torch.Tensor, bins: int = 100, min: Any = 0, max: Any = 0, **_: Any) -> None:  # noqa: ANN401
    if min == max and self.numel():
        for _extreme in range(2):
            REPORTS.copy("d2h", self.element_size())


def _repeat_interleave(repeats: torch.Tensor, *, output_size: int | None = None, **_: Any) -> None:  # noqa: ANN401
    if output_size is None and repeats.numel():
        for _read in ("the size of the result", "whether no count is negative"):
            REPORTS.sync("repeat-interleave")


def _fill(self: torch.Tensor, value: torch.Tensor, *_: Any) -> None:  # noqa: ANN401
    if on_device(value) and not on_device(self):
        REPORTS.sync("item")


def _masked_fill(self: torch.Tensor, mask: torch.Tensor, value: torch.Tensor, **_: Any) -> None:  # noqa: ANN401
    if on_device(value) and not _of_the_host_alone():
        REPORTS.sync("item")


def _index_fill(self: torch.Tensor, dim: int, index: torch.Tensor, value: torch.Tensor, **_: Any) -> None:  # noqa: ANN401
    if on_device(value):
        REPORTS.sync("item")


def _isin(elements: Any, test_elements: Any, *, assume_unique: bool = False, **_: Any) -> None:  # noqa: ANN401
    if not isinstance(elements, torch.Tensor) or not isinstance(test_elements, torch.Tensor):
        return
    if test_elements.numel() >= 10.0 * elements.numel() ** 0.145 and not assume_unique:
        REPORTS.sync("unique")
        REPORTS.sync("unique")


def _rules() -> dict[str, Rule]:
    rules: dict[str, Rule] = {
        "aten::_local_scalar_dense": _item,
        "aten::nonzero": _waits("nonzero"),
        "aten::masked_select": _waits("masked-select"),
        "aten::equal": _equal,
        "aten::bincount": _bincount,
        "aten::histc": _histc,
        **indexing.RULES,
        "aten::fill_.Tensor": _fill,
        "aten::masked_fill_.Tensor": _masked_fill,
        "aten::index_fill_.int_Tensor": _index_fill,
        "aten::embedding_renorm_": _waits("embedding-max-norm"),
        "aten::normal.Tensor_Tensor": _normal,
        "aten::normal.float_Tensor": _normal,
        "aten::isin.Tensor_Tensor_out": _isin,
        "aten::isin.Tensor_Tensor": _isin,
    }
    for name in ("_unique", "_unique2", "unique_dim", "unique_consecutive", "unique_dim_consecutive"):
        rules[f"aten::{name}"] = _waits_on_some("unique")
    for name in ("_linalg_svd", "_linalg_svd.U", "_linalg_eigh", "_linalg_eigh.eigenvalues", "cholesky"):
        rules[f"aten::{name}"] = _waits("linalg-check")
    for name in ("cholesky_inverse", "linalg_lstsq", "linalg_eig", "linalg_eig.out", "_linalg_eigvals"):
        rules[f"aten::{name}"] = _waits("linalg-check")
    for name in ("nonzero", "masked_select"):
        rules[f"aten::{name}.out"] = rules[f"aten::{name}"]
    rules["aten::repeat_interleave.Tensor"] = _repeat_interleave
    return rules


def _normal(mean: Any, std: torch.Tensor, *_: Any, **__: Any) -> None:  # noqa: ANN401
    if std.numel():
        # Once in `normal`, once more in the `normal_out` that it calls: two waits on a card with torch 2.11.
        for _check in range(2):
            REPORTS.sync("normal-std-check")


RULES = _rules()
"""By the operator's full name, without ".default"."""


def report_waits(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Report what a card's kernel of this operator would wait for."""
    rule = RULES.get(name)
    if rule is not None:
        rule(*args, **kwargs)
