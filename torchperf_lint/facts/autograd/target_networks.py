"""Target networks, and old policies, that a loss goes back through: copies of what is trained, which no optimizer owns.

    target = reward + gamma * q_target(following).max(1)[0]
    loss = F.smooth_l1_loss(q(state).gather(1, action), target)

Told by the name, by the weights being copied from another network, and by a training step in which nothing is detached.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache

from torchperf_lint.facts.autograd.trainable import may_freeze
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.patterns import pattern

_TARGET = pattern(
    r"^(?:target|tgt)_(?:\w*(?:net|network|model|critic|actor|policy|q)\w*)$|"
    r"^(?:\w*(?:net|network|model|critic|actor|policy|mu|q|qf?\d|value))_?(?:target|tgt|targ)$|"
    r"^(?:old|prev|previous)_?(?:actor|policy|pi)\w*$|^(?:actor|policy|pi)_?(?:net_?)?(?:old|prev|previous)$"
)
_STOPS = pattern(r"detach|\.data\b|no_grad|inference_mode|set_grad_enabled|stop_gradient")
_WRITES = r"for \w+, (\w+) in zip\([^)]*\(\), (?:self\.)?{name}\.parameters\(\)\):\s+\1(?:\.data)?\.copy_\("
_OPTIMIZES = pattern(r"optim|Adam|SGD|RMSprop", 0)


def trained_through_targets(file: SourceFile) -> Iterator[Site]:
    """The calls of target networks in training steps that detach nothing."""
    named = [c for c in file.calls_named(*filter(_is_target, file.called_names)) if "(" not in c.callee]
    if not named or may_freeze(file.text):
        return
    for site in file.calls_among(named):
        hot = site.hot
        if hot is None or hot.kind != "step" or hot.optional or not site.call.args:
            continue
        record = file.outline.functions[site.function]
        said = "\n".join([*record.decorators, *file.lines[record.line - 1 : record.end_line]])
        if _STOPS.search(said) or "backward" not in said or file.value(site.call.func, site).kind != "module":
            continue
        name = last_part(site.record.callee)
        if file.project.hotness.grad_mode.records(file.path, site.start) and _is_a_copy(file.project, name):
            yield site


@lru_cache(1 << 14)
def _is_target(name: str) -> bool:
    return _TARGET.search(name) is not None


def _is_a_copy(project: Project, name: str) -> bool:
    """Whether a network of this name gets its weights from another one, and no optimizer has its parameters."""
    copied = False
    for path, outline in project.index.outlines.items():
        body = project.body(path) if f"{name}." in project.text(path) else None
        copied = copied or (body is not None and _is_written_into(project.text(path), name))
        for call in outline.calls if body is not None else ():
            node = body.node_of(call) if body is not None else None
            if node is None or not node.args:
                continue
            if _OPTIMIZES.search(call.callee) and f"{name}.parameters()" in ast.unparse(node):
                return False
            if last_part(call.callee) == "load_state_dict" and last_part(call.callee.rpartition(".")[0]) == name:
                given = chain(node.args[0])
                copied = copied or (given.endswith(".state_dict()") and last_part(given[:-13]) != name)
    return copied


def _is_written_into(text: str, name: str) -> bool:
    """Whether a loop writes the parameters of another network into one of this name."""
    return ".copy_(" in text and pattern(_WRITES.format(name=name)).search(text) is not None
