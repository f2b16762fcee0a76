"""What chains of a library's names denote: the same in all files, which ask for the same few again and again."""

from __future__ import annotations

from functools import lru_cache

from torchperf_lint.facts.call_graph.index import LOADING, Thing
from torchperf_lint.facts.call_graph.module_names import LOADED, is_module_name
from torchperf_lint.facts.syntax.canonical import canonical

OTHER_CONSTRUCTORS = frozenset(f".{name}" for name in LOADING)
"""Methods of a class that make a model as a call of the class does."""
GIVING_ITSELF = frozenset(
    {".to", ".cuda", ".cpu", ".eval", ".train", ".half", ".float", ".bfloat16", ".requires_grad_"}
)
"""Methods of a module that give it back."""


@lru_cache(1 << 14)
def one_further(dotted: str, part: str) -> tuple[Thing, ...]:
    """What `.name`, `()` or `[i]` after what is not defined in the project denotes."""
    if part in OTHER_CONSTRUCTORS and LOADED.match(dotted) and is_module_name(dotted):
        return (Thing("external", dotted=dotted),)
    return (Thing("external", dotted=canonical(dotted + part)),)


def is_made_module(dotted: str) -> bool:
    """Whether that is what a library's class of modules makes: `torch.nn.Linear()`."""
    return dotted.endswith("()") and is_module_name(dotted[:-2])


@lru_cache(1 << 14)
def in_library(dotted: str, parts: tuple[str, ...]) -> tuple[Thing, ...]:
    """What all those parts after something that is not defined in the project denote."""
    found: tuple[Thing, ...] = (Thing("external", dotted=dotted),)
    moved = False
    for part, following in zip(parts, (*parts[1:], ""), strict=True):
        if moved:
            moved = False
        elif part in GIVING_ITSELF and following == "()" and is_made_module(found[0].dotted):
            moved = True
        else:
            found = one_further(found[0].dotted, part)
    return found
