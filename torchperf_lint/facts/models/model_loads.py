"""Models and tokenizers that are read from disk again and again, though each time they are the same.

What is loaded must not depend on anything that changes from call to call or from turn to turn: a loop over
checkpoints loads another model each time, and a function that is handed a path leaves the choice to its callers.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from torchperf_lint.facts.call_graph.index import FunctionKey
from torchperf_lint.facts.files.put_away import is_kept
from torchperf_lint.facts.files.requests import request_of
from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.hotness.hot import Hot
from torchperf_lint.facts.outlines.records import Call
from torchperf_lint.facts.roles.cold import NOT_TRAINING_NAME
from torchperf_lint.facts.syntax.arguments import unpacks_keywords
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.literals import is_true
from torchperf_lint.facts.syntax.syntax import names_of
from torchperf_lint.model import Confidence
from torchperf_lint.patterns import pattern

_LOADERS = frozenset(
    "torch.hub.load torch.jit.load whisper.load_model clip.load open_clip.create_model_and_transforms "
    "open_clip.create_model_from_pretrained sentence_transformers.SentenceTransformer "
    "sentence_transformers.CrossEncoder transformers.pipeline transformers.pipelines.pipeline "
    "faster_whisper.WhisperModel ultralytics.YOLO whisperx.load_model demucs.pretrained.get_model".split()
)
_PRETRAINED = "from_pretrained"
_LOAD_STATE = "load_state_dict"
NAMES = frozenset({_PRETRAINED, _LOAD_STATE, "create_model", *(name.rpartition(".")[2] for name in _LOADERS)})
_LIGHT = pattern(r"Config$|Scheduler$|^cls$|Args$|Settings$")
_READS_TEXT = pattern(r"Tokenizer(?:Fast)?$|Processor$|Extractor$")
_PLACES = frozenset(
    {"pretrained_model_name_or_path", "model", "name", "model_name", "model_name_or_path", "repo_or_dir"}
)
"""Keywords that say which weights."""
ONE_OF_SEVERAL = pattern(
    r"fold|seed|trial|(?:^|_)runs?(?:_|$)|rank|epoch|lr|ratio|param|method|config|ckpt|checkpoint|model|layer|expert|"
    r"quant|spars|prun|world|adapter|lora|precision|dtype|backend|variant|batch_size|attempt|retry|retries",
    re.IGNORECASE,
)
"""In the head of a loop that wants a model of its own in each turn, or turns only where the turn before failed."""
TRAINS = pattern(
    r"\.(?:backward|fit|train|train_model|finetune)\(|[oO]ptimi[sz]er|Trainer\(|get_peft_model|requires_grad|quantize|prune|deepcopy"
)
_LEAVES_AS_IT_IS = frozenset(
    "eval to cuda cpu half float bfloat16 generate encode decode predict transcribe config device dtype "
    "get_text_features get_image_features encode_image encode_text batch_decode tokenize convert_ids_to_tokens "
    "apply_chat_template".split()
)
_HOPS = 4


class Load(NamedTuple):
    """A load that gives the same each time."""

    site: Site
    hot: Hot
    what: str
    """model or tokenizer."""


def repeated_loads(file: SourceFile) -> Iterator[Load]:
    """Loads in code that serves requests, in hot code, and in loops that use what they load and leave it alone."""
    for site in file.calls_among([c for c in file.outline.calls if last_part(c.callee) in NAMES]):
        what = loaded(file, site)
        if not what or is_kept(file, site.call, site.function) or is_made_elsewhere(file, site):
            continue
        hot = _why(file, site)
        if hot is not None:
            yield Load(site, hot, what)


def loaded(file: SourceFile, site: Site) -> str:
    """What a call loads, model or tokenizer; empty for other calls."""
    name = last_part(site.record.callee)
    if name == _PRETRAINED:
        of = last_part(chain(site.receiver)) if site.receiver is not None else ""
        if not of[:1].isupper() or _LIGHT.search(of):
            return ""
        return "tokenizer" if _READS_TEXT.search(of) else "model"
    if name == _LOAD_STATE:
        return "model" if _reads_file(file, site) else ""
    called = file.denotes(site.call.func, site)
    if called == "timm.create_model":
        wanted = site.keyword("pretrained")
        return "model" if is_true(wanted) else ""
    return "model" if called in _LOADERS else ""


def _reads_file(file: SourceFile, site: Site) -> bool:
    """`model.load_state_dict(torch.load(path))`, of a constant path or one that is known."""
    given = site.call.args[0] if site.call.args else None
    return isinstance(given, ast.Call) and file.denotes(given.func, site) == "torch.load"


def is_made_elsewhere(file: SourceFile, site: Site) -> bool:
    """Whether a guard decides, or the code runs on the way out of its loop."""
    return NOT_TRAINING_NAME.search(file.outline.functions[site.function].name) is not None


# -- why it is loaded again -----------------------------------------------------------------------------------


def _why(file: SourceFile, site: Site) -> Hot | None:
    if _changes(file, site):
        return None
    loop = loop_around(file, site)
    if loop is not None:
        return _in_loop(file, site, loop)
    if not runs_straight(file, site.record):
        return None
    if site.hot is not None:
        return None if site.hot.kind == "elements" or site.hot.optional else site.hot
    return request_of(file, site.function) or _from_request(file, site)


def _from_request(file: SourceFile, site: Site) -> Hot | None:
    """Of a function that a handler calls: `model = load_model()`."""
    callers = file.project.hotness.callers.get(FunctionKey(file.path, site.function), ())
    for caller in callers:
        if caller.path != file.path or not runs_straight(file, caller.call):
            continue
        hot = request_of(file, caller.call.function)
        node = next(iter(file.calls_among([caller.call])), None)
        if hot is None or node is None or is_kept(file, node.call, caller.call.function):
            continue
        called = f"; `{caller.call.callee}()` is called there (line {caller.call.line})"
        return replace(hot, because=hot.because + called, depth=1)
    return None


def runs_straight(file: SourceFile, call: Call) -> bool:
    """Whether nothing but its function decides that a call runs: no test before it may have found a kept model."""
    regions, index = file.outline.regions, call.region
    while index >= 0 and regions[index].kind != "function":
        if regions[index].kind not in ("grad-off", "evaluation", "return", "way"):
            return False
        index = regions[index].parent
    body = file.project.body(file.path)
    node = body.node_of(call) if body is not None else None
    if node is None:
        return False
    around = file.enclosing(call.function).around(node)
    return not any(isinstance(a, ast.If | ast.ExceptHandler | ast.match_case | ast.Lambda) for a in around)


# -- loops ----------------------------------------------------------------------------------------------------


def loop_around(file: SourceFile, site: Site) -> ast.For | ast.While | None:
    """The innermost loop around a call in its function."""
    around = file.enclosing(site.function).around(site.call)
    return next((a for a in around if isinstance(a, ast.For | ast.While)), None)


def _in_loop(file: SourceFile, site: Site, loop: ast.For | ast.While) -> Hot | None:
    around = file.enclosing(site.function)
    turns = file.project.hotness.around.turns(file.path, site.record.region)
    inside = around.around(site.call)
    held = any(isinstance(a, ast.If | ast.Try) for a in iter(lambda: next(inside), loop))
    head = file.source(loop.iter) + file.source(loop.target) if isinstance(loop, ast.For) else ""
    if not turns or held or ONE_OF_SEVERAL.search(head) or TRAINS.search(file.source(loop)):
        return None
    if not _is_left_as_it_is(file, site):
        return None
    line = loop.lineno
    when = f"in every turn of the loop at line {line}"
    return Hot("eval", f"it runs {when}, and loads the same each time", when, Confidence.LIKELY, file.path, line)


def _is_left_as_it_is(file: SourceFile, site: Site) -> bool:
    """Whether a loop only calls what it loads, so that the next turn could use the same."""
    around = file.enclosing(site.function)
    statement = around.statement(site.call)
    target = statement.targets[0] if isinstance(statement, ast.Assign) and len(statement.targets) == 1 else None
    body = file.project.body(file.path)
    if not isinstance(target, ast.Name) or body is None:
        return False
    for read in body.reads(site.function, target.id):
        parent = around.parents.get(read)
        called = isinstance(parent, ast.Call) and parent.func is read
        looked = isinstance(parent, ast.Attribute) and parent.attr in _LEAVES_AS_IT_IS
        if not called and not looked:
            return False
    return True


# -- what a load depends on -----------------------------------------------------------------------------------


def _changes(file: SourceFile, site: Site) -> bool:
    """Whether what is loaded depends on a parameter, on a loop, or on anything that is not known."""
    call = site.call
    if last_part(site.record.callee) == _LOAD_STATE:
        assert isinstance(call.args[0], ast.Call)
        call = call.args[0]
    if unpacks_keywords(call) and not call.args:
        return True
    named = [k.value for k in call.keywords if k.arg in _PLACES]
    parts = [*call.args[:2], *named]
    receiver = [site.receiver] if last_part(site.record.callee) == _PRETRAINED and site.receiver is not None else []
    names = names_of(*parts, *receiver)
    return not parts or any(is_given(file, site.function, name, _HOPS) for name in sorted(names))


def is_given(file: SourceFile, function: int, name: str, hops: int = _HOPS) -> bool:
    """Whether a name depends on a parameter, on a loop, or on anything that is not known."""
    record = file.outline.functions[function]
    parameters = [p.name for p in record.parameters]
    if name in parameters:
        return not (record.bound and name == parameters[0])
    body = file.project.body(file.path)
    found = body.definitions(function).get(name, []) if body is not None and function > 0 else []
    for definition in found:
        if definition.how == "named":
            continue
        if definition.how != "assign" or definition.value is None or not hops:
            return True
        names = names_of(definition.value) - {name}
        if any(is_given(file, function, inner, hops - 1) for inner in names):
            return True
    return bool(not found and record.parent > 0 and is_given(file, record.parent, name, hops))
