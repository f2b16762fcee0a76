"""Loops that cut their inputs into batches, move each and call a function with it that the caller has handed in.

    def effects(network, x, device, size=256):
        for start in range(0, len(x), size):
            part = x[start : start + size].to(device)
            out.append(network(part))

What `network` is nobody can see here; who moves one piece after the other to the device has it computed there.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from torchperf_lint.facts.outlines.records import Call, Function
from torchperf_lint.patterns import pattern

_PIECE_MOVED = pattern(r"\[\](?:\.\w+\(\))*\.(?:to|cuda)$")
"""`x[start : start + size].to(device)`: what is moved is cut off there."""
_CALLABLE = pattern(r"^$|(?:^|\.)(?:Callable|Module|Any)$")
_TELLS = pattern(
    r"(?:^|_)(?:log\w*|print\w*|report\w*|progress\w*|callback|cb|hook|bar|pbar|tqdm|save\w*|write\w*|show|plot|emit|"
    r"display|collate\w*|tokeni[sz]\w*|load\w*|cls|klass|type|dtype)(?:_|$)",
    re.IGNORECASE,
)
"""What a parameter is called that tells people of a turn, keeps something, or makes it on the host."""


def function_of_batches(function: Function, calls: Sequence[Call]) -> Call | None:
    """The call of a handed-in function among those of a loop over batches; None where no piece is moved for it."""
    if not any(_PIECE_MOVED.search(call.callee) for call in calls):
        return None
    handed = {p.name for p in function.parameters[function.bound :] if _CALLABLE.search(p.annotation)}
    return next((c for c in calls if c.callee in handed and not _TELLS.search(c.callee)), None)
