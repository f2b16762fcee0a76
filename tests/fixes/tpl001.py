"""Comments that silence nothing, among others that stay."""

from __future__ import annotations

import ast

from fixes.programs import STEP, program
from hypothesis import strategies as st

_UNUSED = [
    "  # noqa: TPL101",
    "  # noqa: E501,TPL103",
    "  # noqa: TPL101, TPL103, E501 - long",
    "  # why  # noqa: TPL401 - it is tiny",
    "  # torchperf-lint: ignore[TPL201] reason",
    "  # torchperf-lint: ignore[TPL201, TPL105]",
    "  # noqa: TPL251  # type: ignore",
]
_KEPT = ["", "  # why", "  # noqa: E501", "  # 'a # noqa: TPL101 in a string is none'"[:9]]


@st.composite
def programs(draw: st.DrawFn) -> str:
    """A loop with a comment on most of its lines."""
    lines = [
        "x, y = x.to(device, non_blocking=True), y.to(device, non_blocking=True)",
        "text = '# noqa: TPL101'",
        "loss = F.cross_entropy(model(x), y)",
        *STEP.splitlines(),
        "seen.append(loss.detach())",
    ]
    marked = [f"    {line}{draw(st.sampled_from([*_UNUSED, *_KEPT]))}" for line in lines]
    return program("\n".join(["for x, y in DataLoader(DATA, 4):", *marked, "return [float(value) for value in seen]"]))


def check(before: str, after: str) -> None:
    """The code is the same to the last node."""
    assert ast.dump(ast.parse(before)) == ast.dump(ast.parse(after))
