"""What runs seldom, by its name or by what it does once: constructors, exports, plots, whole evaluations."""

from __future__ import annotations

import re
from collections.abc import Iterable
from weakref import WeakKeyDictionary

from torchperf_lint.facts.call_graph.index import FunctionKey, Index, Thing
from torchperf_lint.facts.outlines.records import Function
from torchperf_lint.facts.roles.meters import ONCE_PER_EPOCH, is_meter
from torchperf_lint.facts.roles.operations import PLAIN_BASES
from torchperf_lint.facts.syntax.chains import last_part
from torchperf_lint.patterns import pattern

_PROFILES = r"(?:^|\.)(?!_?(?:train|fit))_?(?:profil(?:e|ing)(?:_|$)|\w*_profil(?:e|ing)$)"
"""Names that begin or end so; the `user_profile` that somebody trains is none."""
COLD_NAME = pattern(
    r"^__(?:new|repr|str|del|post_init|setstate|getstate|deepcopy|len|hash|eq)__$|^extra_repr$|^(?:re)?set(?:up)?$"
    r"|^reset_parameters$|^_?pre_?alloc|(?:^|_)init_weights?$|^_?initiali[sz]e|^_init_|_initiali[sz]ation$"
    r"|(?:^|_)(?:export|onnx|checkpoint|ckpt|plot|visuali[sz]e|visuali[sz]ation|vis|debug|benchmark|dump|"
    r"demo|warmup|sanity)(?:_|$)|^(?:load|save|restore)(?:_|$)|state_dict|pretrained|^on_\w*epoch_(?:end|start)$"
    r"|(?:^|_)draw_(?:\w+_)?(?:box(?:es)?|bbox(?:es)?|markers?|labels?|lines?|text|points?|keypoints?|skeletons?|images?|"
    r"frames?|masks?|circles?|rectangles?|tracks?|heatmaps?|results?|predictions?|detections?)$"
    r"|(?:^|_)extract_(?:\w+_)?(?:mesh(?:es)?|geometry)(?:_|$)"  # a picture of what was learnt, which is saved
    r"|^(?:un)?merge(?:_adapter|_and_unload)?$|^(?:un)?fuse(?:_\w*lora\w*)?$|epoch_end$|^configure_(?!gradient_clipping$)"
    rf"|{_PROFILES}"
    r"|^_\w+_(?:compute|reduce)$",  # what functional metrics make of a finished state, once an epoch
    re.IGNORECASE,
)
_COLD_UNLESS_CALLED = pattern(
    r"^(?:convert|from|test)_|^test$|^__init__$|^log_(?:images?|videos?|audios?|figures?)$"
    r"|^(?:de|un)_?norm(?:ali[sz]e)?_(?:images?|imgs?|pictures?)$",  # to be looked at
    re.IGNORECASE,
)
"""Names of what runs once, or once in a while, in most programs; what hot code calls runs as often as that does."""
_EXPORTS = pattern(
    r"(?:^|/)_?export(?:s|ers?|ing)?(?:_\w+)?(?:/|\.py$)|(?:^|/)(?:onnx|coreml|tensorrt|trt)/"
    r"|(?:^|[/_])(?:onnx|coreml|tensorrt|trt)(?:_\w+)?\.py$",
    re.IGNORECASE,
)
"""Files with what wraps models for other runtimes: it is traced, not trained."""
_MEASURES = pattern(r"(?:^|/)\w*(?:flops?|macs)(?:_\w+)?\.py$", re.IGNORECASE)
"""Files that count what a model computes: it runs once."""
SETS_UP_OR_TELLS = pattern(
    r"^__(?:init|repr|str|format)__$|^(?:to_)?(?:str|string|text|words?)$|^(?:describe|summari[sz]e|summary|print|show)(?:_|$)"
    r"|^_?(?:create|make|build|generate|prepare)_(?:\w+_)?(?:set|dataset|data|table|vocab\w*|index)$",
    re.IGNORECASE,
)
"""Functions that make what is kept, or text for people: nobody calls them in turns."""
MEASURES_MODULES = pattern(
    r"profil|debug|flops|benchmark|(?:memory|mem|layer)_?(?:track|usage|monitor)|summary|inspect", re.IGNORECASE
)
"""Files, classes and functions whose hooks look at a model for people, and are taken off again."""
NOT_TRAINING_NAME = pattern(
    r"(?:^|_)(?:export|onnx|plot|visuali[sz]e|visuali[sz]ation|vis|debug|benchmark|timeit|demo|sanity|"
    r"dry_?run|(?<!linear_)probe)(?:_|$)|^_?initiali[sz]e_(?!train)|(?:^|_)re_?initiali[sz]e(?:_|$)|^measure_(?:\w+_)?(?:v?ram|memory|latency|throughput|speed|fps|flops)$|^_test_|^time_(?:it|loaders?|model|function|fn|inference|forward|call|run)$"
    rf"|{_PROFILES}",
    re.IGNORECASE,
)
"""Functions whose own loops are not hot either."""
_DEBUGS = pattern(r"^_*Debug(?:ging)?(?![a-z])")
"""Classes that stand in for another while somebody looks for a mistake, and tell all they do."""
MEASURES_NAME = pattern(r"(?:^|_)(?:benchmarks?|timeit)(?:_|$)", re.IGNORECASE)
"""Functions that take steps to measure them: who calls one in turns measures several models, and trains none."""
PROFILES_NAME = pattern(_PROFILES, re.IGNORECASE)
"""Functions that measure what a model costs, unless they step an optimizer: who calls one in turns trains nothing."""
WHOLE_RUN_NAME = pattern(r"^_?(?:fit|calibrate|solve|main|run)(?:_(?!batch|step|one)\w*)?$", re.IGNORECASE)
"""Functions that do a whole optimisation a call, even where the one step in sight takes a closure (L-BFGS)."""


def is_cold(index: Index, key: FunctionKey, called: bool = False, trains: bool = False) -> bool:
    """Whether a function is cold: by its name, as a constructor, or as what a meter does once an epoch.

    `called`: whether hot code calls it. `trains`: whether it does a training step, as `warmup_actor` does.
    """
    function = index.function(key)
    if not called and (_EXPORTS.search(key.path) or _MEASURES.search(key.path)):
        return True
    if is_kernel(function.decorators) or any(_KEEPS.search(last_part(d)) for d in function.decorators):
        return True
    named_so = _COLD_UNLESS_CALLED.search(function.name) and not _takes_test_batches(function)
    if named_so and not (called and _made_in_passing(index, key)):
        return True
    if COLD_NAME.search(function.name):
        return not (trains and (_WARM_UP.search(function.name) or PROFILES_NAME.search(function.name)))
    if function.class_index < 0:
        return False
    own = Thing("class", key.path, function.class_index)
    if _DEBUGS.search(index.record(own).name):
        return True
    if function.name in ONCE_PER_EPOCH:
        return is_meter(index, own)
    return function.name == "render" and all(index.method(own, name) for name in _OF_AN_ENVIRONMENT)


def _takes_test_batches(function: Function) -> bool:
    """`test_step(self, batch, batch_idx)`, which frameworks call as `validation_step`; a test takes no batch."""
    is_step = function.name in ("test_step", "test_step_end")
    return is_step and function.class_index >= 0 and len(function.parameters) > 1


def is_kernel(decorators: Iterable[str]) -> bool:
    """`@triton.jit`, `@cuda.jit`, `@T.prim_func`: what such a function says is compiled, and runs on the device."""
    return any(last_part(decorator.removesuffix("()")) in _KERNELS for decorator in decorators)


_KERNELS = frozenset("jit njit kernel prim_func macro cfunc guvectorize".split())
"""Decorators of Triton, numba, TileLang, CuTe, Warp, Taichi, Helion. `torch.jit.script` runs torch's own operations."""


def _made_in_passing(index: Index, key: FunctionKey) -> bool:
    """Whether a constructor is one of a plain object: a module, a data set or an optimizer is made once and kept.

    But for a module that is called where it is made, and so made anew for each call: `Regression(self.bins)(cost)`.
    """
    function = index.function(key)
    if function.name != "__init__":
        return True
    own = Thing("class", key.path, function.class_index)
    if index.record(own).name in _called_where_made(index):
        return True
    return all(base.startswith(PLAIN_BASES) for base in index.external_bases(own))


_known: WeakKeyDictionary[Index, frozenset[str]] = WeakKeyDictionary()


def _called_where_made(index: Index) -> frozenset[str]:
    """The names of classes whose objects are called by the expression that makes them, as far as calls look so."""
    if index not in _known:
        _known[index] = frozenset(last_part(callee) for callee in index.callees if callee.endswith("()"))
    return _known[index]


_OF_AN_ENVIRONMENT = ("reset", "step")
"""Methods that make a class an environment, whose pictures are for people."""
_KEEPS = pattern(
    r"(?:^|_)cached?(?:_|$)|memoi[sz]e|^assume_constant_result$|^run_(?:if|once)(?:_|$)|^(?:once|singleton)$"
)
"""Decorators that keep what a function gave: it runs once for each argument."""
_EVALUATION = pattern(r"^_?(?:evaluate|validate|validation)(?:_(?!step|batch|one|iter|sample)\w*)?$")
"""Functions that go through a whole data set to judge a model."""
_WARM_UP = pattern(r"^_?warmup_\w")
"""A warm-up of something, as of a part of a model; a plain `warmup` is one of the machine."""


def evaluates_all(index: Index, key: FunctionKey) -> bool:
    """Whether a function judges a model in a loop of its own: a training loop calls it once in many steps."""
    if not _EVALUATION.search(index.function(key).name):
        return False
    return any(r.kind == "loop" and r.function == key.index for r in index.outlines[key.path].regions)
