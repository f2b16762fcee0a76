"""Which calls run a module, by what the project shows of them or by their names: `self.model(x)`, `net.decode(x)`."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from torchperf_lint.facts.call_graph.index import FunctionKey, Index, Thing
from torchperf_lint.facts.call_graph.module_names import is_module_name
from torchperf_lint.facts.call_graph.types import Types
from torchperf_lint.facts.outlines.records import Call
from torchperf_lint.patterns import pattern

MODEL_NAME = pattern(
    r"(?:^|\.)(?:\w+_)?(?:model|net|unet|transformer|denoiser|decoder|generator|policy|actor)\d*(?:_ema)?$"
    r"|(?:^|\.)(?:denoise|model|score|eps)_(?:fn|func|model)$",
    re.IGNORECASE,
)
_OF_A_MODEL = pattern(r"(?:^|_)(?:predict|forward(?!_(?:pre_)?hook)|infer|generate|encode|decode|denoise)(?:_|$)")
_PART = pattern(
    r"^(?!(?:get|set|has|make|build|create|load|init|reset|add)_)(?:\w+_)?(?:encoder|decoder|backbone|trunk|head|proj|projection)\d*$"
)
"""Parts of a model that are modules by their names: `model.text_encoder(tokens)`."""
_FORWARD = pattern(r"^forward(?:_(?!hook|pre_hook)\w+)?$")
"""Methods that run a part of a module: `model.forward_decoder(tokens)`."""
_OF_A_BASE = pattern(r"^(?:object|abc\.ABC|(?:torch\.nn|lightning)\.\w+)\(\)\.\w+(?:\.\w+)?$")
"""`self.model` of a class that derives from `nn.Module` and is handed its model."""


def _nothing_known(things: Sequence[Thing]) -> bool:
    """Whether a name is bound to nothing in sight, or at most to what a base class of a library may hold."""
    return all(thing.kind == "external" and _OF_A_BASE.search(thing.dotted) for thing in things)


def _runs_a_model(callee: str) -> bool:
    """Whether a call is that of a model by its name, or of a method that runs one: `self.model.predict(batch)`."""
    receiver, _, method = callee.rpartition(".")
    if receiver and _PART.search(method) and MODEL_NAME.search(receiver):
        return True
    if receiver and _OF_A_MODEL.search(method):
        return bool(MODEL_NAME.search(receiver) or receiver.endswith("predictor"))
    return bool(MODEL_NAME.search(callee))


class ModuleCalls:
    """Answers for the calls of one project; what a function runs is kept.

    `calls_in`: path, region -> the calls directly in it.
    """

    def __init__(self, index: Index, types: Types, calls_in: Callable[[str, int], Sequence[Call]]) -> None:
        self.index = index
        self.types = types
        self._calls_in = calls_in
        self._run: dict[tuple[FunctionKey, int], str | None] = {}

    def is_one(self, path: str, function: int, callee: str) -> bool | None:
        """Whether a callee is a module for certain, or by its name (False); None where it is none that is known.

        `self.model(x)`, `self(x)` in a module, and `self.model.forward_decoder(x)`, which runs a part of one.
        """
        own = self.index.class_of(path, function) if callee in ("self", "self.forward") else None
        if own is not None and self.types.is_module_class(own):
            return True
        owner, _, method = callee.rpartition(".")
        for name in (callee, owner) if owner and _FORWARD.search(method) else (callee,):
            things = self.types.things(path, function, name)
            if any(self._is_module(thing) for thing in things):
                return True
            if _nothing_known(things) and _runs_a_model(name):
                return False
        return True if self._is_part_of_a_pass(path, function, owner, method) else None

    def _is_part_of_a_pass(self, path: str, function: int, owner: str, method: str) -> bool:
        """`sae.encode(x)` of what is known to be a module of the project: a part of its pass, whatever computes it."""
        if not owner or owner == "self" or not _OF_A_MODEL.search(method):
            return False
        return any(t.kind == "instance" and self._is_module(t) for t in self.types.things(path, function, owner))

    def run_by(self, key: FunctionKey, depth: int = 2) -> str | None:
        """The module that a function calls once, itself or through one it calls: a step of a sampler."""
        if (key, depth) not in self._run:
            self._run[key, depth] = None  # while it is being worked out: functions may call each other
            self._run[key, depth] = self._module_called(key, depth)
        return self._run[key, depth]

    def _module_called(self, key: FunctionKey, depth: int) -> str | None:
        calls = self._calls_in(key.path, self.index.function(key).region)
        for call in calls:
            if self.is_one(key.path, key.index, call.callee) is not None:
                return call.callee
        if depth <= 1:
            return None
        inner = (
            self.run_by(t, depth - 1)
            for call in calls
            for t in self.types.targets(key.path, call.function, call.callee)
            if t != key
        )
        return next(filter(None, inner), None)

    def _is_module(self, thing: Thing) -> bool:
        if thing.kind == "instance":
            return self.types.is_module_class(thing)
        return thing.kind == "external" and thing.dotted.endswith("()") and is_module_name(thing.dotted[:-2])
