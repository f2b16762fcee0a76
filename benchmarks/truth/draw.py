"""Draws the sites to label: by the shape of the syntax only, knowing nothing of our rules.

`python benchmarks/truth/draw.py PACKAGES_DIRECTORY` prints package, version, path, line, end line, stratum and
pattern, tab-separated; with `--files`, small files to label from top to bottom; with `--families`, the sites of the
stratum `families` (loading, generating, exchanging, trainers, items, precision and the like). The same packages and,
for `--families`, the same tables beside this script give the same answer.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import random
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

SEED = 20261121
FILES = 24
STEP_FILES = 16
"""Of those, more with code that trains."""
MORE_FILES = 16
"""Of files with code that trains, a second draw, up to twice as long."""
AGAIN_FILES = 20
"""Of files with code that trains, a third draw, up to twice as long."""
LAST_FILES = 16
"""The fourth draw of files, as the third."""
FIFTH_FILES = 30
"""The fifth draw of files, as the first but up to three times as long: few that train were left."""
FILE_LINES = 350
FILE_CANDIDATES = 4
"""A file to label whole has at most so many lines, and at least so many hot candidates."""
SIXTH_FILES = 40
"""The sixth draw of files, as the fifth."""
PER_PATTERN = 17
STEP_SITES = 9
"""More of each pattern from the stratum `step`: loops that train, and forward passes and losses."""
MORE_SITES = 22
"""More of each pattern of `MORE`, from loops and from functions that train or are called often: where findings are."""
MORE = "TPL101 TPL102 TPL103 TPL104 TPL105 TPL107 TPL108 TPL112 TPL119 TPL201 TPL251 TPL252 TPL255 TPL301 TPL651 TPL652"
AGAIN_SITES = 24
"""More of each pattern of `AGAIN`, drawn as those of `MORE` after the rules had been tuned to these."""
AGAIN = "TPL101 TPL102 TPL103 TPL105 TPL107 TPL108 TPL112 TPL119 TPL201 TPL208 TPL251 TPL252 TPL651"
LAST_SITES = 16
"""More of each pattern of `AGAIN`, a fourth draw."""
FIFTH_SITES = 12
"""More of each pattern of `AGAIN`, a fifth draw."""
HOT_SHARE = 0.7
"""Sites in a loop or in a function that frameworks call often, of those drawn for a pattern."""
_HOT_NAME = re.compile(r"forward|step|loss|batch|update|__call__|__getitem__|collate|train_one|sample|predict")
_STEP_NAME = re.compile(r"^(forward|training_step|train_step|train_batch|compute_loss|_?loss\w*|\w+_loss|update)$")
_SKIPPED = re.compile(r"(^|/)(tests?|testing|docs?|examples?|bench\w*|_vendor)(/|$)|(^|/)(test_\w+|conftest)\.py$")
_LOSS = re.compile(r"loss|acc|metric|score|err|grad|norm|psnr|reward", re.IGNORECASE)
_LOADER = re.compile(r"loader|dl$|^dl|dataset|iterator", re.IGNORECASE)
_TENSOR_TEST = frozenset("any all isnan isinf isfinite equal allclose is_nonzero".split())
_FACTORY = frozenset(
    "zeros ones full rand randn randint randperm arange eye empty linspace tensor zeros_like ones_like rand_like "
    "randn_like empty_like full_like FloatTensor LongTensor from_numpy normal".split()
)


FAMILY_SITES = 8
"""Of each pattern of the stratum `families`, at most so many."""
FAMILY_MORE_SITES = 4
"""And of each narrower shape of `FAMILY_MORE`, so many."""
FAMILY_ASIDE = 3
"""Of those, so many first from files that would be set aside: unseen before, and chosen by a hash of their name."""
_ITEM_NAME = re.compile(r"__getitem__|__iter__|__next__|item|sample|^_?(load|read|get|open|fetch)_\w+|collate")
_COLLECTIVE = (
    "all_reduce all_gather all_gather_into_tensor reduce reduce_scatter broadcast gather all_to_all barrier".split()
)
_DISTRIBUTED = re.compile(r"dist|accelerator|fabric|strategy|idist|xm|process_group|distrib|comm", re.IGNORECASE)


class Site(NamedTuple):
    """A place to label; lines are 1-based."""

    package: str
    version: str
    path: str
    line: int
    end_line: int
    stratum: str
    pattern: str


Candidate = tuple[Site, str, bool]


class Place(NamedTuple):
    """A node with what stands around it."""

    node: ast.AST
    loops: tuple[ast.AST, ...]
    function: str


def _name(node: ast.AST) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _call(node: ast.AST, *names: str) -> bool:
    return isinstance(node, ast.Call) and _name(node.func) in names


def _method(node: ast.AST, *names: str) -> bool:
    return _call(node, *names) and isinstance(node.func, ast.Attribute)  # type: ignore[attr-defined]


def _words(node: ast.AST) -> Iterator[str]:
    return (_name(n) for n in ast.walk(node) if isinstance(n, ast.Name | ast.Attribute))


def _holds_call(node: ast.AST, names: frozenset[str]) -> bool:
    return any(isinstance(n, ast.Call) and _name(n.func) in names for n in ast.walk(node))


def _keyword(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Call) and any(k.arg == name for k in node.keywords)


def _module_like(node: ast.AST) -> bool:
    return bool(re.search(r"model|net|module|encoder|decoder|vae|criterion", _name(node), re.IGNORECASE))


def _truth(place: Place) -> bool:
    node = place.node
    if not isinstance(node, ast.If | ast.While | ast.IfExp | ast.Assert):
        return False
    nan = frozenset({"isnan", "isinf", "isfinite"})
    return _holds_call(node.test, _TENSOR_TEST - nan) and not _holds_call(node.test, nan)


def _nan(place: Place) -> bool:
    node = place.node
    return isinstance(node, ast.If | ast.While | ast.IfExp | ast.Assert) and _holds_call(
        node.test, frozenset({"isnan", "isinf", "isfinite"})
    )


def _printed(place: Place) -> bool:
    node = place.node
    if not _call(node, "print", "info", "debug", "write", "warning", "format"):
        return False
    assert isinstance(node, ast.Call)
    return any(_LOSS.search(word) for argument in node.args for word in _words(argument))


def _per_parameter(place: Place) -> bool:
    node = place.node
    if not isinstance(node, ast.For) or not _holds_call(node.iter, frozenset({"parameters", "named_parameters"})):
        return False
    return any(_call(n, "item", "float", "norm", "any", "max", "isnan", "tolist") for n in ast.walk(node))


def _as_index_or_size(place: Place) -> bool:
    node = place.node
    reductions = frozenset({"max", "sum", "min", "argmax", "cumsum", "count_nonzero"})
    if isinstance(node, ast.Subscript):
        return _holds_call(node.slice, reductions) or (
            isinstance(node.slice, ast.Slice) and bool(re.search(r"len", " ".join(_words(node.slice))))
        )
    return _call(node, "range", "arange", "zeros", "view", "repeat", "expand") and any(
        _holds_call(a, reductions)
        for a in node.args  # type: ignore[attr-defined]
    )


def _many_reads(place: Place) -> bool:
    node = place.node
    reads = frozenset({"item", "float", "tolist", "cpu", "numpy"})
    if not isinstance(node, ast.Dict | ast.Call | ast.Assign | ast.Return):
        return False
    return sum(_call(n, *reads) for n in ast.walk(node)) >= 2


def _logged(place: Place) -> bool:
    return _method(
        place.node,
        "set_postfix",
        "set_description",
        "set_postfix_str",
        "add_scalar",
        "add_scalars",
        "log_metric",
        "log_metrics",
    ) or (_method(place.node, "log", "update") and bool(place.node.args))  # type: ignore[attr-defined]


def _moved(place: Place) -> bool:
    node = place.node
    if not _method(node, "to", "cuda") or _moved_factory(place):
        return False
    return not _module_like(node.func.value)  # type: ignore[attr-defined]


def _moved_factory(place: Place) -> bool:
    node = place.node
    return _method(node, "to", "cuda") and _holds_call(node.func.value, _FACTORY)  # type: ignore[attr-defined]


def _module_moved(place: Place) -> bool:
    node = place.node
    return _method(node, "to", "cuda", "cpu") and _module_like(node.func.value)  # type: ignore[attr-defined]


def _literal_uploaded(place: Place) -> bool:
    return _call(place.node, "tensor", "as_tensor", "new_tensor", "asarray") and _keyword(place.node, "device")


def _made_of_list(place: Place) -> bool:
    node = place.node
    if not _call(node, "tensor", "as_tensor", "Tensor", "FloatTensor", "LongTensor"):
        return False
    return any(isinstance(a, ast.List | ast.ListComp | ast.Name) for a in node.args)  # type: ignore[attr-defined]


def _next_iter(place: Place) -> bool:
    node = place.node
    return _call(node, "next") and bool(node.args) and _call(node.args[0], "iter")  # type: ignore[attr-defined]


def _cached_loader(place: Place) -> bool:
    node = place.node
    if not _call(node, "cycle", "list", "tuple") or len(node.args) != 1:  # type: ignore[attr-defined]
        return False
    return any(_LOADER.search(word) for word in _words(node.args[0]))  # type: ignore[attr-defined]


def _accumulated(place: Place) -> bool:
    node = place.node
    return (
        isinstance(node, ast.AugAssign)
        and isinstance(node.op, ast.Add)
        and bool(any(_LOSS.search(word) for word in _words(node)))
    )


def _kept(place: Place) -> bool:
    node = place.node
    return (
        bool(place.loops)
        and _method(node, "append", "extend")
        and any(re.search(r"loss|out|pred|logit|feat|embed|hidden|result|prob", word) for word in _words(node))
    )


def _grows(place: Place) -> bool:
    return bool(place.loops) and _call(place.node, "cat", "concat", "stack", "concatenate", "hstack", "vstack")


def _element_loop(place: Place) -> bool:
    node = place.node
    if not isinstance(node, ast.For):
        return False
    counted = _call(node.iter, "range") and _holds_call(node.iter, frozenset({"size", "len"}))
    shaped = _call(node.iter, "range") and "shape" in _words(node.iter)
    return (counted or shaped) and any(isinstance(n, ast.Subscript) for n in ast.walk(node))


def _saved(place: Place) -> bool:
    return _call(place.node, "state_dict", "save_pretrained", "save_checkpoint", "deepcopy", "save_state") or (
        _method(place.node, "save") and _name(place.node.func.value) == "torch"
    )  # type: ignore[attr-defined]


def _legacy_amp(place: Place) -> bool:
    node = place.node
    return isinstance(node, ast.Call) and bool(re.search(r"(^|\.)amp\.|GradScaler|autocast", ast.unparse(node.func)))


def _debug_flag(place: Place) -> bool:
    node = place.node
    if _call(node, "set_detect_anomaly", "detect_anomaly", "set_sync_debug_mode"):
        return True
    return isinstance(node, ast.Constant) and node.value in ("CUDA_LAUNCH_BLOCKING", "TORCH_USE_CUDA_DSA")


def _non_blocking_to_host(place: Place) -> bool:
    node = place.node
    return _keyword(node, "non_blocking") and _call(node, "to", "cpu", "copy_", "cuda")


PATTERNS: dict[str, Callable[[Place], bool]] = {
    "TPL101": lambda p: _method(p.node, "item"),
    "TPL102": _truth,
    "TPL103": lambda p: (
        _method(p.node, "tolist")
        or (
            _call(p.node, "float", "int", "bool")
            and any(isinstance(n, ast.Call | ast.Name) for a in p.node.args for n in [a])  # type: ignore[attr-defined]
        )
    ),
    "TPL104": _printed,
    "TPL105": lambda p: _method(p.node, "cpu", "numpy"),
    "TPL107": _nan,
    "TPL108": _per_parameter,
    "TPL112": _as_index_or_size,
    "TPL115": lambda p: _method(p.node, "synchronize"),
    "TPL119": _many_reads,
    "TPL120": _logged,
    "TPL201": _moved,
    "TPL202": _non_blocking_to_host,
    "TPL203": lambda p: _method(p.node, "pin_memory"),
    "TPL208": _module_moved,
    "TPL209": _saved,
    "TPL251": _moved_factory,
    "TPL252": _literal_uploaded,
    "TPL255": _made_of_list,
    "TPL301": lambda p: isinstance(p.node, ast.Call) and _name(p.node.func).endswith("DataLoader"),
    "TPL306": _next_iter,
    "TPL324": _cached_loader,
    "TPL401": lambda p: _method(p.node, "empty_cache"),
    "TPL402": lambda p: _method(p.node, "collect") and _name(p.node.func.value) == "gc",  # type: ignore[attr-defined]
    "TPL403": _accumulated,
    "TPL405": _kept,
    "TPL507": _legacy_amp,
    "TPL551": _debug_flag,
    "TPL601": lambda p: _method(p.node, "zero_grad"),
    "TPL651": _element_loop,
    "TPL652": _grows,
    "TPL751": lambda p: _call(p.node, "DataParallel"),
}


def _of(place: Place) -> str:
    return place.function.rpartition(".")[2]


def _loads_model(place: Place) -> bool:
    node = place.node
    if not place.function:
        return False
    return _method(node, "from_pretrained", "load_state_dict", "create_model", "load_state_dict_from_url") or (
        _method(node, "load") and _name(node.func.value) in ("torch", "hub")  # type: ignore[attr-defined]
    )


def _pipelined(place: Place) -> bool:
    return bool(place.loops) and _call(
        place.node, "pipeline", "pipe", "encode", "encode_prompt", "embed", "embed_query"
    )


def _collective(place: Place) -> bool:
    node = place.node
    if not place.function or not isinstance(node, ast.Call) or _name(node.func) not in _COLLECTIVE:
        return False
    return isinstance(node.func, ast.Name) or bool(_DISTRIBUTED.search(ast.unparse(node.func.value)))  # type: ignore[attr-defined]


def _opened(place: Place) -> bool:
    node = place.node
    if not _ITEM_NAME.search(_of(place)) or not isinstance(node, ast.Call):
        return False
    text = ast.unparse(node.func)
    return bool(
        re.search(r"^(open|h5py\.File|(np|numpy)\.(load|loadtxt)|(json|pickle|yaml)\.load|lmdb\.open)$", text)
    ) or bool(
        re.search(
            r"^(pd|pandas)\.read_|^(sf|soundfile|torchaudio|Image|sio)\.(read|load|open)|ZipFile$|\.(iloc|loc)$", text
        )
    )


def _tokenized(place: Place) -> bool:
    return isinstance(place.node, ast.Call) and bool(re.search(r"tokenizer(_\d)?$", _name(place.node.func)))


def _padded(place: Place) -> bool:
    node = place.node
    return isinstance(node, ast.Call) and any(
        k.arg == "padding"
        and not (isinstance(k.value, ast.Constant) and isinstance(k.value.value, int) and k.value.value is not True)
        for k in node.keywords
        if re.search(r"token|proces|pad$|encode|extractor", ast.unparse(node.func))
    )


def _double(place: Place) -> bool:
    node = place.node
    if _method(node, "double"):
        return True
    return isinstance(node, ast.Attribute) and node.attr in ("float64", "double") and _name(node.value) == "torch"


def _requires_grad(place: Place) -> bool:
    node = place.node
    if _method(node, "requires_grad_"):
        return True
    return isinstance(node, ast.Assign) and any(
        isinstance(t, ast.Attribute) and t.attr == "requires_grad" for t in node.targets
    )


def _environment(place: Place) -> bool:
    node = place.node
    if _method(node, "setdefault", "putenv", "update"):
        return "environ" in ast.unparse(node.func)  # type: ignore[attr-defined]
    return isinstance(node, ast.Assign) and any(
        isinstance(t, ast.Subscript) and _name(t.value) == "environ" for t in node.targets
    )


def _backend_flag(place: Place) -> bool:
    node = place.node
    if _call(node, "use_deterministic_algorithms", "set_deterministic", "set_float32_matmul_precision"):
        return True
    return isinstance(node, ast.Assign) and any(
        (
            isinstance(t, ast.Attribute)
            and t.attr in ("deterministic", "benchmark", "allow_tf32", "enabled")
            and "backends" in ast.unparse(t)
        )
        or (isinstance(t, ast.Attribute) and "cudnn." in ast.unparse(t))
        for t in node.targets
    )


def _numpy_in_forward(place: Place) -> bool:
    node = place.node
    if not re.search(r"^(forward|_forward\w*|forward_\w+|loss|_?compute_loss)$", _of(place)):
        return False
    return isinstance(node, ast.Call) and bool(re.match(r"(np|numpy)\.", ast.unparse(node.func)))


def _cast_then_moved(place: Place) -> bool:
    node = place.node
    if not _method(node, "to", "cuda"):
        return False
    inner = node.func.value  # type: ignore[attr-defined]
    return _method(inner, "float", "double", "half", "long", "int", "type", "div")


def _attends(place: Place) -> bool:
    return _call(place.node, "MultiheadAttention") or (
        _method(place.node, "attn", "self_attn", "multihead_attn", "cross_attn", "mha", "attention")
        and _name(place.node.func.value) == "self"  # type: ignore[attr-defined]
    )


def _softmax_of_product(place: Place) -> bool:
    node = place.node
    if not _call(node, "softmax") or not place.function:
        return False
    return any(re.search(r"attn|attention|score|sim|logits|dots|weights", word) for word in _words(node))


def _profiled(place: Place) -> bool:
    node = place.node
    return _call(node, "profile", "emit_nvtx", "Profile", "record_function", "range_push") or (
        isinstance(node, ast.Call) and bool(re.search(r"[Pp]rofiler$", _name(node.func)))
    )


FAMILY_PATTERNS: dict[str, Callable[[Place], bool]] = {
    "TPL106": _numpy_in_forward,
    "TPL122": lambda p: _call(p.node, "GradScaler", "get_scale"),
    "TPL205": _cast_then_moved,
    "TPL307": _opened,
    "TPL318": lambda p: _keyword(p.node, "persistent_workers") or _keyword(p.node, "prefetch_factor"),
    "TPL319": _tokenized,
    "TPL320": _padded,
    "TPL323": lambda p: (
        isinstance(p.node, ast.ClassDef) and any("IterableDataset" in ast.unparse(b) for b in p.node.bases)
    ),
    "TPL404": lambda p: _keyword(p.node, "retain_graph"),
    "TPL504": _double,
    "TPL551": lambda p: _call(p.node, "set_detect_anomaly", "detect_anomaly"),
    "TPL555": _backend_flag,
    "TPL557": lambda p: _call(p.node, "set_num_threads", "setNumThreads", "set_num_interop_threads"),
    "TPL558": _profiled,
    "TPL602": lambda p: _keyword(p.node, "foreach") or _keyword(p.node, "fused"),
    "TPL606": _requires_grad,
    "TPL607": lambda p: _call(p.node, "clip_grad_norm_", "clip_grad_norm", "clip_grad_value_"),
    "TPL654": _softmax_of_product,
    "TPL655": _attends,
    "TPL701": lambda p: _method(p.node, "compile") and _name(p.node.func.value) != "re",  # type: ignore[attr-defined]
    "TPL752": lambda p: _call(p.node, "DistributedDataParallel", "DDP", "DistributedDataParallelKwargs"),
    "TPL753": lambda p: _method(p.node, "no_sync", "accumulate", "no_backward_sync", "set_requires_gradient_sync"),
    "TPL756": _collective,
    "TPL757": lambda p: isinstance(p.node, ast.Call) and bool(re.search(r"_object(s|_list)?$", _name(p.node.func))),
    "TPL762": _environment,
    "TPL803": lambda p: _method(p.node, "generate") or _keyword(p.node, "use_cache"),
    "TPL804": _pipelined,
    "TPL805": _loads_model,
    "TPL806": lambda p: _keyword(p.node, "output_attentions") or _keyword(p.node, "output_hidden_states"),
    "TPL853": lambda p: _keyword(p.node, "sync_dist"),
    "TPL873": lambda p: (
        isinstance(p.node, ast.Call) and bool(re.search(r"TrainingArguments$|Trainer$", _name(p.node.func)))
    ),
    "TPL875": lambda p: _call(p.node, "Accelerator"),
}
"""The shapes of the stratum `families`; the code is that of the family, and says nothing of what a site is."""


def _numpy_of_tensor(place: Place) -> bool:
    node = place.node
    if not isinstance(node, ast.Call) or not place.function:
        return False
    text = ast.unparse(node)
    if re.match(r"(np|numpy)\.", text):
        return bool(re.search(r"\.(cpu|detach|numpy)\(", text))
    return bool(re.match(r"torch\.(from_numpy|as_tensor|tensor)\((np|numpy)\.", text))


def _cast_to_device(place: Place) -> bool:
    return (
        _cast_then_moved(place) and bool(re.search(r"device|cuda", ast.unparse(place.node).rpartition(".")[2]))
    ) or (_cast_then_moved(place) and bool(re.search(r"\.to\([^()]*device[^()]*\)$", ast.unparse(place.node))))


def _double_made(place: Place) -> bool:
    node = place.node
    if _method(node, "double"):
        return True
    return isinstance(node, ast.Call) and any(
        isinstance(v, ast.Attribute) and v.attr in ("float64", "double") and _name(v.value) == "torch"
        for v in (*node.args, *(k.value for k in node.keywords))
    )


def _unpacked_attention(place: Place) -> bool:
    node = place.node
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Tuple):
        call: ast.AST = node.value
    elif isinstance(node, ast.Subscript):
        call = node.value
    else:
        return False
    return isinstance(call, ast.Call) and bool(re.search(r"attn|attention|mha", _name(call.func)))


def _loads_where_called(place: Place) -> bool:
    node = place.node
    if not _loads_model(place) or _method(node, "load_state_dict"):
        return False
    return not re.search(r"load|init|pretrained|save|resume|setup|build|create|convert|make|main", _of(place))


def _constant(node: ast.AST, name: str, *values: object) -> bool:
    return isinstance(node, ast.Call) and any(
        k.arg == name and isinstance(k.value, ast.Constant) and k.value.value in values for k in node.keywords
    )


FAMILY_MORE: dict[str, Callable[[Place], bool]] = {
    "TPL106": _numpy_of_tensor,
    "TPL205": _cast_to_device,
    "TPL319": _tokenized,
    "TPL320": lambda p: _constant(p.node, "padding", "max_length"),
    "TPL404": lambda p: _constant(p.node, "retain_graph", True),
    "TPL504": _double_made,
    "TPL602": lambda p: _constant(p.node, "foreach", True, False) or _constant(p.node, "fused", True, False),
    "TPL606": lambda p: _method(p.node, "requires_grad_"),
    "TPL607": lambda p: _keyword(p.node, "error_if_nonfinite"),
    "TPL654": lambda p: (
        _call(p.node, "softmax") and any(re.search(r"attn|attention|dots|sim", w) for w in _words(p.node))
    ),
    "TPL655": _unpacked_attention,
    "TPL752": lambda p: _keyword(p.node, "find_unused_parameters"),
    "TPL756": _collective,
    "TPL757": lambda p: (
        isinstance(p.node, ast.Call) and bool(re.search(r"(gather|broadcast|scatter)_object", _name(p.node.func)))
    ),
    "TPL803": lambda p: _method(p.node, "generate"),
    "TPL804": lambda p: bool(p.loops) and _call(p.node, "pipeline", "pipe", "encode_prompt", "encode", "text_encoder"),
    "TPL805": _loads_where_called,
    "TPL806": lambda p: _constant(p.node, "output_hidden_states", True) or _constant(p.node, "output_attentions", True),
}
"""Narrower shapes, of which some more are drawn: where a reviewer may ask for a change."""


def _narrow(pattern: str) -> str:
    return f"{pattern}+"


FAMILY_SHAPES = FAMILY_PATTERNS | {_narrow(pattern): shape for pattern, shape in FAMILY_MORE.items()}


def places(tree: ast.Module) -> Iterator[Place]:
    """Every node with the loops and the function around it."""
    stack: list[Place] = [Place(tree, (), "")]
    while stack:
        place = stack.pop()
        yield place
        for child in ast.iter_child_nodes(place.node):
            loops, function = place.loops, place.function
            if isinstance(place.node, ast.For | ast.While | ast.AsyncFor) and child in place.node.body:
                loops = (*loops, place.node)
            if isinstance(place.node, ast.ListComp | ast.GeneratorExp) and child is place.node.elt:
                loops = (*loops, place.node)
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                loops, function = (), f"{function}.{child.name}".strip(".")
            stack.append(Place(child, loops, function))


def _trains(place: Place) -> bool:
    """Whether a place lies in a loop that trains, or in what such a loop calls, by the function's name."""
    inside = any(_method(n, "backward", "step") for loop in place.loops for n in ast.walk(loop))
    return inside or bool(_STEP_NAME.search(place.function.rpartition(".")[2]))


def sites_of(
    package: str, version: str, root: Path, patterns: dict[str, Callable[[Place], bool]] = PATTERNS
) -> Iterator[tuple[Site, str, bool]]:
    """Every candidate of a package with the function it stands in, and whether it trains there."""
    for path in sorted(root.rglob("*.py")):
        relative = path.relative_to(root).as_posix()
        text = path.read_text(encoding="utf-8", errors="replace")
        if _SKIPPED.search(relative) or "torch" not in text:
            continue
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError):
            continue
        for place in places(tree):
            line, end = getattr(place.node, "lineno", None), getattr(place.node, "end_lineno", None)
            if line is None or end is None:
                continue
            hot = bool(place.loops) or bool(_HOT_NAME.search(place.function.rpartition(".")[2]))
            for pattern, matches in patterns.items():
                if matches(place):
                    last = _last_line(place.node, pattern, end)
                    stratum = "hot" if hot else "other"
                    yield Site(package, version, relative, line, last, stratum, pattern), place.function, _trains(place)


def _last_line(node: ast.AST, pattern: str, end: int) -> int:
    """Of what is asked in a branch, the test; of a loop over elements or a class, its first line; else all of it."""
    if isinstance(node, ast.If | ast.While):
        return node.test.end_lineno or end
    if isinstance(node, ast.ClassDef) or (isinstance(node, ast.For) and pattern != "TPL108"):
        return node.lineno
    return end


def drawn(candidates: list[Candidate]) -> list[Site]:
    """At random within strata, at most one site per file and function, packages taking turns."""
    chooser = random.Random(SEED)
    taken: set[tuple[str, str, str]] = set()
    kept: list[Site] = []
    for pattern in PATTERNS:
        for stratum, wanted in (("hot", round(PER_PATTERN * HOT_SHARE)), ("other", PER_PATTERN)):
            pool = sorted(c for c in candidates if c[0].pattern == pattern and c[0].stratum == stratum)
            chooser.shuffle(pool)
            want = wanted if stratum == "hot" else wanted - sum(s.pattern == pattern for s in kept)
            kept += _in_turns(pool, want, taken)
    for pattern in PATTERNS:
        pool = sorted(c for c in candidates if c[0].pattern == pattern and c[2])
        chooser.shuffle(pool)
        kept += [site._replace(stratum="step") for site in _in_turns(pool, STEP_SITES, taken)]
    for stratum, patterns, wanted in (
        ("more", MORE, MORE_SITES),
        ("again", AGAIN, AGAIN_SITES),
        ("last", AGAIN, LAST_SITES),
        ("fifth", AGAIN, FIFTH_SITES),
    ):
        for pattern in patterns.split():
            pool = sorted(c for c in candidates if c[0].pattern == pattern and (c[2] or c[0].stratum == "hot"))
            chooser.shuffle(pool)
            kept += [site._replace(stratum=stratum) for site in _in_turns(pool, wanted, taken)]
    return sorted(set(kept))


def drawn_families(candidates: list[Candidate]) -> list[Site]:
    """A few of each pattern of `FAMILY_PATTERNS`, some first from files that a hash of their name sets aside."""
    chooser = random.Random(SEED)
    taken: set[tuple[str, str, str]] = set()
    kept: list[Site] = []
    seen = labelled_files()
    for pattern in FAMILY_PATTERNS:
        pool = sorted(c for c in candidates if c[0].pattern == pattern)
        chooser.shuffle(pool)
        pool.sort(key=lambda c: c[0].stratum != "hot")
        unseen = [c for c in pool if set_aside(c[0], seen)]
        first = _in_turns(unseen, FAMILY_ASIDE, taken)
        wanted = FAMILY_SITES - len(first)
        hot = _in_turns([c for c in pool if c[0].stratum == "hot"], round(wanted * HOT_SHARE), taken)
        kept += first + hot + _in_turns(pool, wanted - len(hot), taken)
    for pattern in map(_narrow, FAMILY_MORE):
        pool = sorted(c for c in candidates if c[0].pattern == pattern)
        chooser.shuffle(pool)
        pool.sort(key=lambda c: c[0].stratum != "hot")
        first = _in_turns([c for c in pool if set_aside(c[0], seen)], 1, taken)
        kept += first + _in_turns(pool, FAMILY_MORE_SITES - len(first), taken)
    return sorted(site._replace(stratum="families", pattern=site.pattern.rstrip("+")) for site in kept)


def labelled_files() -> set[str]:
    """`NAME-VERSION/path` of every file that holds a row in the tables that stood before the stratum `families`."""
    here = Path(__file__).parent
    rows = [
        line.split("\t")
        for table in ("sites.tsv", "files.tsv")
        for line in (here / table).read_text("utf-8").splitlines()
    ]
    return {f"{row[0]}-{row[1]}/{row[2]}" for row in rows} | set((here / "aside.txt").read_text("utf-8").split())


def set_aside(site: Site, seen: set[str]) -> bool:
    """Whether the file of a site of `families` is kept aside: one in three of those nobody has looked at."""
    name = f"{site.package}-{site.version}/{site.path}"
    return name not in seen and int(hashlib.sha1(name.encode()).hexdigest(), 16) % 3 == 0


def drawn_files(candidates: list[Candidate], directory: Path) -> list[tuple[str, str, str]]:
    """Package, version and path of small files with much hot code, a few of a package, and of more that train."""
    lines: dict[tuple[str, str, str], set[int]] = {}
    training: dict[tuple[str, str, str], set[int]] = {}
    for site, _, trains in candidates:
        if site.stratum == "hot":
            lines.setdefault(site[:3], set()).add(site.line)
        if trains:
            training.setdefault(site[:3], set()).add(site.line)
    kept: list[tuple[str, str, str]] = []
    draws = (
        (lines, FILES, 1),
        (training, STEP_FILES, 1),
        (training, MORE_FILES, 2),
        (training, AGAIN_FILES, 2),
        (training, LAST_FILES, 3),
        (lines, FIFTH_FILES, 3),
        (lines, SIXTH_FILES, 3),
    )
    for table, more, times in draws:
        wanted = len(kept) + more
        pool = sorted(key for key, found in table.items() if len(found) >= FILE_CANDIDATES and key not in kept)
        random.Random(SEED).shuffle(pool)
        count: dict[str, int] = {}
        for package, version, path in pool:
            text = (directory / f"{package}-{version}" / path).read_text(encoding="utf-8", errors="replace")
            if count.get(package, 0) < 3 and len(text.splitlines()) <= times * FILE_LINES and len(kept) < wanted:
                count[package] = count.get(package, 0) + 1
                kept.append((package, version, path))
    return sorted(kept)


def _in_turns(pool: list[Candidate], wanted: int, taken: set[tuple[str, str, str]]) -> list[Site]:
    kept: list[Site] = []
    count: dict[str, int] = {}
    while len(kept) < wanted:
        free = [c for c in pool if (c[0].package, c[0].path, c[1]) not in taken]
        if not free:
            break
        site, function, _ = min(free, key=lambda c: count.get(c[0].package, 0))
        taken.add((site.package, site.path, function))
        count[site.package] = count.get(site.package, 0) + 1
        kept.append(site)
    return kept


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path, help="holds one directory NAME-VERSION for each package")
    parser.add_argument("--files", action="store_true", help="draw whole files instead of sites")
    parser.add_argument("--families", action="store_true", help="draw the sites of the stratum families instead")
    arguments = parser.parse_args()
    directory = arguments.directory
    candidates: list[Candidate] = []
    for folder in sorted(directory.iterdir()):
        package, _, version = folder.name.rpartition("-")
        if package:
            patterns = FAMILY_SHAPES if arguments.families else PATTERNS
            candidates += sites_of(package, version, folder, patterns)
    if arguments.families:
        print(*("\t".join(map(str, site)) for site in drawn_families(candidates)), sep="\n")
        return 0
    for site in drawn_files(candidates, directory) if arguments.files else drawn(candidates):
        print(*site, sep="\t")
    return 0


if __name__ == "__main__":
    sys.exit(main())
