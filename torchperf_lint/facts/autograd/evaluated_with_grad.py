"""Loops that evaluate a model while autograd records: `model.eval()`, and no `no_grad` around.

    model.eval()
    for x, y in val_loader:
        correct += (model(x).argmax(1) == y).sum()

Told by three things together: the function puts a model into evaluation mode, a loop follows that does not train, and
the loop runs that very model, itself or through a helper. Whatever may ask for gradients, anywhere near, leaves it
unsaid.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from torchperf_lint.facts.autograd.trainable import freezes
from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.call_graph.index import CallSite, FunctionKey
from torchperf_lint.facts.call_graph.passed import argument_for
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.hotness.hot import Hot
from torchperf_lint.facts.hotness.inference_loops import IN_EVALUATION_MODE
from torchperf_lint.facts.hotness.loop import EVERY_INPUT, FEW_TURNS
from torchperf_lint.facts.outlines.records import Call, Function, Outline, Region
from torchperf_lint.facts.roles.cold import COLD_NAME, NOT_TRAINING_NAME
from torchperf_lint.facts.syntax.chains import chain
from torchperf_lint.model import Confidence
from torchperf_lint.patterns import pattern

_GRADIENTS = pattern(
    r"grad\b|_grad|requires_grad|inference_mode|backward|attack|adversar|salien|attribut|create_graph|autograd|"
    r"optimizer\.step|forces\b|torch\.func\b|jacobian|hessian|enable_grad|fabric|accelerator"
)
"""What gradients may be for, or what switches them off, in the text of a loop or of a model."""
_AROUND = pattern(
    r"set_grad_enabled|attack|adversar|salien|create_graph|autograd\.(?:grad|functional)|forces\b|torch\.func\b|jacobian|"
    r"hessian|enable_grad|fabric|accelerator"
)
"""What the code around a loop may want gradients for; that it trains as well, elsewhere, says nothing of the loop."""
_FROZEN = pattern(r"\.freeze\(|jit\.load|onnx|TensorRT|trt\b|set_grad_enabled\(False")
_WORDS_OF_FROZEN = (".freeze(", "jit.load", "onnx", "TensorRT", "trt", "set_grad_enabled(False")
"""One of them is in all that `_FROZEN` finds."""
_NO_PARTS = frozenset(
    "eval train to cuda cpu half float bfloat16 parameters named_parameters modules named_modules children buffers "
    "state_dict load_state_dict zero_grad requires_grad_ apply register_buffer generate share_memory".split()
)
"""Methods of modules that run nothing, and one that switches gradients off itself."""
_NAME = pattern(r"[\w.]+")
_SHOWS = pattern(r"(?:^|_)(?:sample|show|save|draw|dump|log|render|display)(?:_|$)", re.IGNORECASE)
"""Functions that make a few pictures for people to look at."""
_PICTURES = pattern(
    r"save_image|savefig|imsave|imwrite|make_grid|add_image|\bplt\.|samp(?:le)?s?\b[^=\n]*=[^=]", re.IGNORECASE
)
"""What the same is told by in the text of a loop."""
_DRAWS = pattern(r"^(?:sample|generate)$")
_GATHERS = pattern(r"\.append\([^\n]*(?:detach|cpu|numpy)\(\)|\.append\([^\n]*\.data\b")
"""What draws as much as it is asked for, batch by batch, and puts it on the host."""
_WRAPS = pattern(r"DataParallel\(\)|\.cuda\(\)$|\.to\(\)$")
_UP = 2


class Evaluated(NamedTuple):
    """A call of a model in a loop that evaluates it with gradients."""

    site: Site
    model: str
    place: tuple[str, int]
    """The path and line where the model is put into evaluation mode."""
    head: int
    """The line of the loop."""
    hot: Hot


def put_into_evaluation(file: SourceFile) -> Iterator[tuple[Call, str]]:
    """Calls of `model.eval()`, with the chain of the model."""
    for call in file.outline.calls if file.mentions(("eval",)) else ():
        model, _, method = call.callee.rpartition(".")
        if method == "eval" and model and "?" not in model and "()" not in model:
            yield call, model


def evaluated_with_grad(file: SourceFile) -> Iterator[Evaluated]:
    """The first call of each evaluated model in each such loop of a file."""
    for call, model in put_into_evaluation(file):
        if any(site.call.args or site.call.keywords for site in file.calls_among([call])):
            continue  # `frame.eval("a + b")`
        for number, region in enumerate(file.outline.regions):
            if _follows(region, call) and _stays(file, call, region, model) and not says_more(file, region):
                found = evaluated_in(file, number, model)
                if found is not None:
                    yield Evaluated(found[0], model, (file.path, call.line), region.head, found[1])


def _follows(region: Region, call: Call) -> bool:
    """Whether a loop of the same function comes after the call, in the same turn of all loops around it."""
    return region.kind == "loop" and region.function == call.function and region.start[0] > call.line


def _stays(file: SourceFile, call: Call, region: Region, model: str) -> bool:
    """Whether a model is in evaluation mode all through a loop: `eval` is the last said before, nothing within."""
    modes = [
        (other.line, other.callee)
        for other in file.outline.calls
        if other.callee in (f"{model}.train", f"{model}.eval") and other.function == call.function
    ]
    before = [callee for line, callee in sorted(modes) if line < region.start[0]]
    within = [callee for line, callee in modes if region.start[0] <= line <= region.end[0]]
    return before[-1] == f"{model}.eval" and f"{model}.train" not in within


def evaluated_in(file: SourceFile, number: int, model: str) -> tuple[Site, Hot] | None:
    """The first call in a loop that runs a model with gradients recorded, and why it is hot."""
    region = file.outline.regions[number]
    loop = file.project.hotness.loops.at(file.path, number)
    if (loop is not None and loop.kind != "eval") or is_frozen(file):
        return None
    inside = [c for c in file.outline.calls if c.function == region.function and _within(file, c.region, number)]
    for run in file.calls_among(inside):
        if not _runs(file, run, model):
            continue
        site = _innermost(file, _plainest(file, run, inside, model), model)
        by_mode = loop is None or loop.because.startswith(IN_EVALUATION_MODE)
        hot = _repeated(file, site, region) if by_mode else site.hot
        if hot is None or hot.kind != "eval" or not file.project.hotness.grad_mode.records(file.path, site.start):
            return None
        if model_switches_off(file, site):
            return None
        sure = hot.confidence.at_least(Confidence.LIKELY)  # that it runs a model in evaluation mode tells the rest
        return site, hot if sure else replace(hot, confidence=Confidence.LIKELY)
    return None


def is_frozen(file: SourceFile) -> bool:
    """Whether something in a file may have switched gradients off for good, or runs no model of torch."""
    return (file.mentions(_WORDS_OF_FROZEN) and bool(_FROZEN.search(file.text))) or freezes(file.text)


def _plainest(file: SourceFile, run: Site, inside: list[Call], model: str) -> Site:
    """The call of the model itself, where the first that runs it is one of its methods that an option asks for.

    `if n_best: tags = model.decode_nbest(words, n_best)`, and `else: tags = model(words)`: most runs take that way.
    """
    regions, region = file.outline.regions, run.record.region
    if run.record.callee == model or regions[region].kind != "way":
        return run
    others = [c for c in inside if c.callee == model and not _within(file, c.region, region)]
    around = [regions[c.region].parent if regions[c.region].kind == "way" else c.region for c in others]
    plain = [c for c, outer in zip(others, around, strict=True) if _within(file, region, outer)]
    return next((site for site in file.calls_among(plain) if site.call.args or site.call.keywords), run)


def _repeated(file: SourceFile, site: Site, region: Region) -> Hot | None:
    """Why a call is hot in a loop that is nothing but one that runs a model in evaluation mode."""
    hotness, function = file.project.hotness, file.outline.functions[site.function]
    few = region.turns is not None and region.turns <= FEW_TURNS
    known = site.hot is not None and IN_EVALUATION_MODE not in site.hot.because
    if few or known or not hotness.around.turns(file.path, site.record.region):
        return None
    text = "\n".join(file.lines[region.head - 1 : region.end[0]])
    if NOT_TRAINING_NAME.search(function.name) or COLD_NAME.search(function.name) or _PICTURES.search(text):
        return None
    if _SHOWS.search(function.name) and not (_DRAWS.search(function.name) and _GATHERS.search(text)):
        return None
    callers = hotness.callers.get(FunctionKey(file.path, site.function), ())
    if callers and not any(hotness.around.held_back_by_epochs(caller.path, caller.call.region) for caller in callers):
        return None  # every thousandth step
    because = f"it runs each turn of the loop `{region.detail}` (line {region.head}), in evaluation mode"
    when = f"{EVERY_INPUT} (`{region.detail}`, line {region.head})"
    return Hot("eval", because, when, Confidence.LIKELY, file.path, region.head)


def _runs(file: SourceFile, site: Site, model: str) -> bool:
    """Whether a call runs a model: itself, by a method of the project, or by a helper that calls it."""
    callee = site.record.callee
    if callee in (model, f"{model}.forward") or _is_wrapped(file, site, model):
        return bool(site.call.args or site.call.keywords)
    owner, _, method = callee.rpartition(".")
    targets = file.project.types.targets(file.path, site.function, callee)
    if not targets or method in _NO_PARTS:
        return False
    if owner == model:
        return all(file.project.hotness.loops.inference.modules.run_by(key) for key in targets)
    return all(_hands_on(file, site, key, model) for key in targets)


def _is_wrapped(file: SourceFile, site: Site, model: str) -> bool:
    """Whether what is called is the model on its device, or spread over several: `parallel = DataParallel(model)`."""
    bound = [
        file.lines[b.line - 1]
        for b in file.outline.bindings
        if b.target == site.record.callee and _WRAPS.search(b.value)
    ]
    return any(model in _NAME.findall(line.partition("=")[2].replace(".cuda", "").replace(".to", "")) for line in bound)


def _hands_on(file: SourceFile, site: Site, key: FunctionKey, model: str) -> bool:
    """Whether a helper calls the model: that of the same object, or the one that it is given."""
    project = file.project
    function = project.index.function(key)
    if model.startswith("self."):
        name = model if site.record.callee.startswith("self.") else ""
    elif _closes_over(function, site, model):
        name = model
    else:
        given = (p.name for p in function.parameters[function.bound :])
        name = next((p for p in given if _chain_of(argument_for(site.call, function, p)) == model), "")
    outline = project.index.outlines[key.path]
    calls = [c for c in outline.calls if c.callee == name and c.function == key.index] if name else []
    return bool(calls) and not any(in_a_loop(outline, c) for c in calls)  # who loops himself is judged himself


def in_a_loop(outline: Outline, call: Call) -> bool:
    """Whether a call stands in a loop of its function."""
    region = call.region
    while region >= 0 and outline.regions[region].kind not in ("loop", "function"):
        region = outline.regions[region].parent
    return region >= 0 and outline.regions[region].kind == "loop"


def _closes_over(function: Function, site: Site, model: str) -> bool:
    """Whether a function inside the one that calls it sees the model as it is."""
    return (
        function.parent == site.function and function.parent > 0 and model not in [p.name for p in function.parameters]
    )


def _innermost(file: SourceFile, site: Site, model: str) -> Site:
    """The call of the model itself, where a function within this one makes it and nothing else calls that."""
    for key in file.project.types.targets(file.path, site.function, site.record.callee):
        function = file.project.index.function(key)
        if (
            key.path == file.path
            and _closes_over(function, site, model)
            and len(file.project.hotness.callers[key]) == 1
        ):
            inner = [c for c in file.outline.calls if c.callee == model and c.function == key.index]
            return next(file.calls_among(inner), site)
    return site


def _chain_of(node: ast.expr | None) -> str:
    return chain(node) if node is not None else ""


def _within(file: SourceFile, inner: int, loop: int) -> bool:
    while inner >= 0 and inner != loop:
        inner = file.outline.regions[inner].parent
    return inner == loop


def model_switches_off(file: SourceFile, site: Site) -> bool:
    """Whether the model's own code runs without gradients, or asks for them."""
    project = file.project
    return any(
        text_asks(project.body(key.path), key.index) or project.hotness.grad_mode.is_off(key, 0)
        for key in project.types.targets(file.path, site.function, site.record.callee)
    )


def text_asks(body: Body | None, function: int) -> bool:
    """Whether the text of a function, its decorators too, speaks of gradients."""
    if body is None:
        return True
    record = body.outline.functions[function]
    return _GRADIENTS.search("".join(body.lines[record.line - 1 : record.end_line])) is not None


def says_more(file: SourceFile, region: Region, hops: int = _UP) -> bool:
    """Whether a loop says anything about gradients, or what it stands in or is called by asks for some."""
    project = file.project
    if _GRADIENTS.search("\n".join(file.lines[region.head - 1 : region.end[0]])) or _is_trained_on(file, region):
        return True
    return wants_around(project, FunctionKey(file.path, region.function), hops)


def wants_around(project: Project, function: FunctionKey, hops: int = _UP) -> bool:
    """Whether a function, what it stands in or what calls it wants gradients, or trains on what it hands back."""
    pending = [(function, hops)]
    while pending:
        key, left = pending.pop()
        if key.index == 0:
            continue
        if _wants_in(project.body(key.path), key.index):
            return True
        parent = project.index.function(key).parent
        if parent > 0:
            pending.append((FunctionKey(key.path, parent), left))
        for site in project.hotness.callers.get(key, ()) if left else ():
            if _goes_back(project.body(site.path), site):
                return True
            pending.append((FunctionKey(site.path, site.call.function), left - 1))
    return False


def _is_trained_on(file: SourceFile, region: Region) -> bool:
    """Whether `backward` runs below a loop on something that the loop binds or adds to."""
    body = file.project.body(file.path)
    if body is None:
        return True
    below = {name for name, line in body.backward_operands(region.function).items() if line > region.end[0]}
    bound = (d for name in below for d in body.definitions(region.function).get(name, ()))
    return any(region.start <= d.at < region.end for d in bound)


def _wants_in(body: Body | None, function: int) -> bool:
    """Whether the text of a function speaks of what gradients of an evaluation are for."""
    if body is None:
        return True
    record = body.outline.functions[function]
    return _AROUND.search("".join(body.lines[record.line - 1 : record.end_line])) is not None


def _goes_back(body: Body | None, site: CallSite) -> bool:
    """Whether a caller runs `backward` on what it gets: an evaluation that hands out a loss to train on."""
    if body is None:
        return True
    taken, equals, _ = body.lines[site.call.line - 1].partition("=")
    return bool(equals) and not body.backward_operands(site.call.function).keys().isdisjoint(_NAME.findall(taken))
