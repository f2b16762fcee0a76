"""What the host chooses of a copy: `probs = policy(x).cpu().numpy()`, and then `np.random.choice(n, p=probs)`.

The device can choose as well, and one number is copied then; of `torch.tanh(policy(x)).cpu()` nothing is chosen.
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.copies.saved_at_once import made_of
from torchperf_lint.facts.files.source import Site
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.literals import is_none
from torchperf_lint.facts.syntax.syntax import names_of

_CHOOSE = frozenset({"argmax", "argmin", "multinomial", "choice", "choices", "sample"})


def chosen_on_host(site: Site) -> bool:
    """Whether the function that copies a tensor chooses an element by what it has copied."""
    around = site.file.enclosing(site.function)
    named = made_of(site.file, site)
    for node in around.of_kinds((ast.Call,)):
        if not isinstance(node, ast.Call) or last_part(chain(node.func)) not in _CHOOSE:
            continue
        if any(part is site.call for part in ast.walk(node)):
            return True
        if node.lineno > site.call.lineno and names_of(node) & named:
            return True
    return False


def weights(denoted: str, call: ast.Call) -> list[ast.expr]:
    """By what `np.random.choice(n, size, p=probs)` draws several; one alone is a number, which the host may need."""
    several = len(call.args) > 1 or any(k.arg == "size" and not is_none(k.value) for k in call.keywords)
    return [k.value for k in call.keywords if k.arg == "p"] if several and denoted == "numpy.random.choice" else []
