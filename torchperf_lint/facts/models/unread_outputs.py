"""Attention weights and hidden states that a model is asked for and that nobody reads, and models made to compute them.

out = model(**batch, output_attentions=True)
loss = out.loss
"""

from __future__ import annotations

import ast
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from typing import NamedTuple

from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.outlines.records import Call
from torchperf_lint.facts.syntax.literals import is_literal, is_true
from torchperf_lint.patterns import pattern

ATTENTIONS, HIDDEN = "output_attentions", "output_hidden_states"
_HOOKS = ("register_forward_hook", "register_forward_pre_hook", "register_full_backward_hook", "register_hook")
_NAMES_NEITHER = frozenset(
    "loss logits last_hidden_state pooler_output text_embeds image_embeds start_logits end_logits sequences scores "
    "prediction_logits seq_relationship_logits past_key_values".split()
)
"""Parts of a model's output that are neither."""
_OWN_LAYERS = pattern(r"layer|\bexit|depth")
"""Keywords of models that take their outputs from other layers than the last."""
_NEEDS_EAGER = pattern(
    r"(?<!output_)attentions|attn_weights|attention_weights|hook|interpret|explain|attribut|saliency|rollout|onnx|\bexport|jit\.|"
    r"gemma|softcap|t5|deberta|sink|\blrp\b|relevance|head_mask|captum|prune|alibi|score_mod|vjp|jvp|grad\(grad|functorch",
    re.IGNORECASE,
)
"""In a file with a reason for attention that is written out: it looks inside, exports, or the model has no other."""


class Unread(NamedTuple):
    """A call that asks for outputs that nothing reads."""

    site: Site
    asked: tuple[str, ...]
    """The keywords, in the order of the call."""
    read: str
    """What is read of its result, in words."""


def unread_outputs(file: SourceFile) -> Iterator[Unread]:
    """Each hot call, in order, of whose result only other parts are read."""
    if file.mentions(_HOOKS):
        return
    asking = _functions_that_ask(file)
    for site in file.calls_among([call for call in file.outline.calls if call.function in asking]):
        asked = tuple(k.arg for k in site.call.keywords if k.arg in (ATTENTIONS, HIDDEN) and is_true(k.value))
        if not asked or site.hot is None or site.hot.kind == "data":
            continue
        if any(_OWN_LAYERS.search(k.arg or "") for k in site.call.keywords):
            continue
        read = parts_read(file, site)
        if read:
            yield Unread(site, asked, ", ".join(f"`{part}`" for part in read))


def _functions_that_ask(file: SourceFile) -> set[int]:
    """The functions in whose lines one of the keywords stands; the module's always."""
    lines = [number for number, line in enumerate(file.lines, 1) if ATTENTIONS in line or HIDDEN in line]
    functions = enumerate(file.outline.functions)
    return {n for n, f in functions if n == 0 or bisect_left(lines, f.line) < bisect_right(lines, f.end_line)}


def written_out_attention(file: SourceFile) -> Iterator[Site]:
    """Each `from_pretrained(..., attn_implementation="eager")` of transformers that nothing in its file explains."""
    if _NEEDS_EAGER.search(file.text) or file.project.index.called_names.intersection(_HOOKS):
        return
    for_nobody = sum(ATTENTIONS in unread.asked for unread in unread_outputs(file))
    if file.text.count(ATTENTIONS) != for_nobody:
        return
    for site in file.calls_among([c for c in file.outline.calls if _loads(c)]):
        chosen = site.keyword("attn_implementation")
        loaded = file.project.types.thing(file.path, site.function, site.record.callee)
        known = loaded is not None and loaded.dotted.startswith("transformers.")
        if known and is_literal(chosen, "eager"):
            yield site


def _loads(call: Call) -> bool:
    return call.callee.endswith((".from_pretrained", ".from_config"))


def parts_read(file: SourceFile, site: Site) -> list[str]:
    """The parts of a call's result that are read, where those are all, and no attention weights nor hidden states."""
    around = file.enclosing(site.function)
    parent = around.parents.get(site.call)
    if isinstance(parent, ast.Attribute):
        return [parent.attr] if parent.attr in _NAMES_NEITHER else []
    targets = parent.targets if isinstance(parent, ast.Assign) else []
    if len(targets) != 1 or not isinstance(targets[0], ast.Name):
        return []
    return _read_of(file, site, targets[0].id)


def _read_of(file: SourceFile, site: Site, name: str) -> list[str]:
    around, body = file.enclosing(site.function), file.project.body(file.path)
    assert body is not None
    parts: list[str] = []
    for node in body.reads(site.function, name):
        reaching = body.reaching(site.function, name, body.at(node)) or []
        if reaching and not any(definition.value is site.call for definition in reaching):
            continue
        part = _part(around.parents.get(node), node)
        if not part:
            return []
        parts.append(part)
    return [] if _is_closed_over(file, site, name) else list(dict.fromkeys(parts))


def _is_closed_over(file: SourceFile, site: Site, name: str) -> bool:
    inner = [n for n, record in enumerate(file.outline.functions) if record.parent == site.function and n]
    return any(isinstance(n, ast.Name) and n.id == name for i in inner for n in file.enclosing(i).parents)


def _part(parent: ast.AST | None, node: ast.AST) -> str:
    """`logits` of `out.logits`, `out["logits"]`; `loss` or logits of `out[0]`; empty for all else."""
    if isinstance(parent, ast.Attribute) and parent.value is node:
        return parent.attr if parent.attr in _NAMES_NEITHER else ""
    if isinstance(parent, ast.Subscript) and parent.value is node and isinstance(parent.slice, ast.Constant):
        key = parent.slice.value
        return f"[{key}]" if key == 0 and type(key) is int else key if key in _NAMES_NEITHER else ""
    return ""
