"""Draws the sites to label: by the shape of the syntax only, knowing nothing of our rules.

`python benchmarks/truth/draw.py PACKAGES_DIRECTORY` prints package, version, path, line, end line, stratum and
pattern, tab-separated; with `--files`, small files to label from top to bottom. The same packages give the same answer.
"""

from __future__ import annotations

import argparse
import ast
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


def sites_of(package: str, version: str, root: Path) -> Iterator[tuple[Site, str, bool]]:
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
            for pattern, matches in PATTERNS.items():
                if matches(place):
                    last = _last_line(place.node, pattern, end)
                    stratum = "hot" if hot else "other"
                    yield Site(package, version, relative, line, last, stratum, pattern), place.function, _trains(place)


def _last_line(node: ast.AST, pattern: str, end: int) -> int:
    """Of what is asked in a branch, the test; of a loop over elements, its first line; else all of it."""
    if isinstance(node, ast.If | ast.While):
        return node.test.end_lineno or end
    if isinstance(node, ast.For) and pattern != "TPL108":
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
    arguments = parser.parse_args()
    directory = arguments.directory
    candidates: list[Candidate] = []
    for folder in sorted(directory.iterdir()):
        package, _, version = folder.name.rpartition("-")
        candidates += sites_of(package, version, folder)
    for site in drawn_files(candidates, directory) if arguments.files else drawn(candidates):
        print(*site, sep="\t")
    return 0


if __name__ == "__main__":
    sys.exit(main())
