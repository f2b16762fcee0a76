"""Runs an operator of the device with the host's kernel over the same memory."""

from __future__ import annotations

from typing import Any

import torch

from torchperf_lint.runtime.simulated.generators import check_place, device_generator
from torchperf_lint.runtime.simulated.memory import adopt, as_device, as_host, index_of, on_device
from torchperf_lint.runtime.simulated.naming import BACKEND, apart
from torchperf_lint.runtime.simulated.plan import Plan, plan_of
from torchperf_lint.runtime.simulated.reports import cannot
from torchperf_lint.runtime.simulated.sparse import coo_on_device, coo_on_host, is_coo, replace_coo

_TAKE_BOTH = {
    "aten::index",
    "aten::_index_put_impl_",
    "aten::fill_",
    "aten::_ctc_loss",
    "aten::_ctc_loss_backward",
    "aten::segment_reduce",
    "aten::_segment_reduce_backward",
}
"""Operators whose kernels for a card take tensors of the host, too."""

_WIDE = (torch.float64, torch.complex128)


class _Call:
    """One call on its way to the host and back."""

    def __init__(self, op: Any, plan: Plan) -> None:  # noqa: ANN401
        self.op = op
        self.plan = plan
        self.index: int | None = None
        self.given: dict[str, Any] = {}
        self.outs: dict[str, torch.Tensor] = {}
        self.fresh: dict[str, torch.Tensor] = {}
        self.sparse: dict[str, torch.Tensor] = {}
        self.host_tensor = False

    def argument(self, name: str, value: Any) -> Any:  # noqa: ANN401
        """The host's side of one argument."""
        if isinstance(value, torch.Tensor):
            return self._tensor(name, value)
        if isinstance(value, list | tuple) and any(isinstance(item, torch.Tensor) for item in value):
            self.given[name] = value
            return [self._tensor("", item) if isinstance(item, torch.Tensor) else item for item in value]
        if isinstance(value, torch.device):
            self.index = index_of(value) if self.index is None and value.type == BACKEND else self.index
            return torch.device("cpu")
        if name in self.plan.tensors and isinstance(value, int | float | complex):
            return self._number(value)
        return value

    def _number(self, value: Any) -> torch.Tensor:  # noqa: ANN401
        """A tensor that joins type promotion as the number would."""
        if not isinstance(value, float | complex):
            return torch.tensor(value, device="cpu")
        wide = any(t.dtype in _WIDE for t in self.given.values() if isinstance(t, torch.Tensor))
        if isinstance(value, complex):
            return torch.tensor(value, dtype=torch.complex128 if wide else torch.complex64, device="cpu")
        return torch.tensor(value, dtype=torch.float64 if wide else torch.get_default_dtype(), device="cpu")

    def _tensor(self, name: str, value: torch.Tensor) -> torch.Tensor:
        if name:
            self.given[name] = value
        if not on_device(value):
            self.host_tensor = self.host_tensor or value.dim() > 0
            return value
        self._meets(value.get_device())
        if is_coo(value):
            self.sparse[name] = coo_on_host(value)
            return self.sparse[name]
        if value.layout != torch.strided:
            raise cannot(self.op)
        if name not in self.plan.outs:
            return as_host(value)
        if value.numel() == 0:
            self.fresh[name] = torch.empty(0, dtype=value.dtype, device="cpu")
            return self.fresh[name]
        self.outs[name] = as_host(value)
        return self.outs[name]

    def _meets(self, index: int) -> None:
        if self.index is None:
            self.index = index
        elif self.index != index:
            raise RuntimeError(apart(f"cuda:{self.index}", f"cuda:{index}"))

    def check(self) -> None:
        """As on a card: tensors of the host, other than scalars, do not mix with the device's."""
        if self.host_tensor and self.index is not None and self.op.name().split(".")[0] not in _TAKE_BOTH:
            raise RuntimeError(apart(f"cuda:{self.index}", "cpu"))

    def result(self, value: Any, which: int) -> Any:  # noqa: ANN401
        """The device's side of one result."""
        name = self.plan.returned[which] if which < len(self.plan.returned) else None
        if name is not None:
            given = self.given[name]
            return replace_coo(given, self._new(self.sparse[name])) if name in self.sparse else given
        if isinstance(value, torch.Tensor):
            return self._new(value)
        if isinstance(value, list | tuple):
            return [self._new(item) if isinstance(item, torch.Tensor) else item for item in value]
        return value

    def renew_outs(self, kwargs: dict[str, Any]) -> None:
        """Let the operator resize what it writes to: memory seen from two sides cannot grow."""
        for name in self.plan.outs & kwargs.keys():
            kwargs[name] = self.fresh[name] = torch.empty(0, dtype=kwargs[name].dtype, device="cpu")

    def _new(self, value: torch.Tensor) -> torch.Tensor:
        if is_coo(value):
            return coo_on_device(value, self.index or 0)
        if value.layout != torch.strided or value.is_quantized:
            raise cannot(self.op)
        return as_device(_real(value), self.index or 0)


def _real(value: torch.Tensor) -> torch.Tensor:
    """Lazily conjugated, negated or zero tensors have other memory than they show, or none."""
    if value._is_zerotensor() or value.is_conj() or value.is_neg():
        return value.clone().resolve_conj().resolve_neg()
    return value


def _numbers(plan: Plan, args: list[Any], kwargs: dict[str, Any], index: int) -> None:
    """Draw from the device's own generator where the caller named none. Raises RuntimeError for one of the host."""
    if not plan.draws:
        return
    place = plan.names.index("generator")
    named = args[place] if place < len(args) else kwargs.get("generator")
    if named is not None:
        check_place(named, "cuda")
    elif place < len(args):
        args[place] = device_generator(index)
    else:
        kwargs["generator"] = device_generator(index)


def run_on_host(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:  # noqa: ANN401
    """Call `op` with host tensors over the device tensors' memory; results come back as device tensors.

    Raises RuntimeError where a card would (tensors on different devices) and where the host has no such kernel.
    """
    plan = plan_of(op)
    call = _Call(op, plan)
    host_args = [call.argument(name, value) for name, value in zip(plan.names, args, strict=False)]
    host_kwargs = {name: call.argument(name, value) for name, value in kwargs.items()}
    call.check()
    _numbers(plan, host_args, host_kwargs, call.index or 0)
    result = _run(call, host_args, host_kwargs)
    _settle(call)
    if isinstance(result, tuple):
        return tuple(call.result(value, which) for which, value in enumerate(result))
    return call.result(result, 0)


def _run(call: _Call, args: list[Any], kwargs: dict[str, Any]) -> Any:  # noqa: ANN401
    try:
        return call.op(*args, **kwargs)
    except NotImplementedError as error:
        raise cannot(call.op, str(error)) from error
    except RuntimeError as error:
        if not call.plan.outs or "not resizable" not in str(error):
            raise
    call.renew_outs(kwargs)
    return call.op(*args, **kwargs)


def _settle(call: _Call) -> None:
    """What the operator did to its outputs' sizes, or to how they are to be read, holds for the device's side, too."""
    for name, host in call.outs.items():
        if host.is_conj() != call.given[name].is_conj() and name not in call.fresh:
            as_host(call.given[name]).copy_(host.resolve_conj().clone())
    for name, host in call.fresh.items():
        if host.numel():
            moved = as_device(_real(host), call.index or 0)
            adopt(call.given[name], moved, host.size(), host.stride(), 0)
        elif host.shape != call.given[name].shape:
            adopt(call.given[name], call.given[name], host.size(), host.stride(), 0)
