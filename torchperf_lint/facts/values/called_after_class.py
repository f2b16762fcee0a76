"""Objects that nobody knows, but for a name of several words that is the name of one class of the project.

    def update(self, replay_buffer, step):
        obs, reward = replay_buffer.sample(self.batch_size)    # of `class ReplayBuffer`

Hydra, a registry or a script elsewhere makes such an object. Single words, `model` and `buffer`, name too much.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torchperf_lint.facts.call_graph.index import FunctionKey, Thing
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.values.value import Value
from torchperf_lint.model import Confidence
from torchperf_lint.patterns import pattern

if TYPE_CHECKING:
    from torchperf_lint.facts.values.values import Values

_WORDS = pattern(r"^_?[a-z0-9]{2,}(?:_[a-z0-9]{2,})+$")


def method_of_namesake(values: Values, receiver: ast.expr, method: str) -> FunctionKey | None:
    """The method that a call on something unknown runs, where what it is called on is called after one class."""
    name = last_part(chain(receiver)) if isinstance(receiver, ast.Name | ast.Attribute) else ""
    if not _WORDS.match(name):
        return None
    if values.classes_by_words is None:
        values.classes_by_words = _by_words(values)
    found = values.classes_by_words.get(_bare(name), ())
    return values.index.method(found[0], method) if len(found) == 1 else None


def only_by_name(value: Value) -> Value:
    """What such a method gives, no surer than a name is."""
    item = only_by_name(value.item) if value.item is not None else None
    items = tuple(map(only_by_name, value.items))
    return value._replace(item=item, items=items).weaker(Confidence.LIKELY)


def _by_words(values: Values) -> dict[str, list[Thing]]:
    found: dict[str, list[Thing]] = {}
    for path, outline in values.index.outlines.items():
        for number, record in enumerate(outline.classes):
            found.setdefault(_bare(record.name), []).append(Thing("instance", path, number))
    return found


def _bare(name: str) -> str:
    """`replaybuffer` of `ReplayBuffer`, `replay_buffer` and `_replay_buffer`."""
    return name.replace("_", "").lower()
