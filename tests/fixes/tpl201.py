"""Loops over a pinned loader with workers that copy its batches and wait."""

from __future__ import annotations

from fixes.programs import STEP, comments, program
from hypothesis import strategies as st

FEWER = "h2d-blocking"

_MOVES = [
    ".to(device)",
    ".to(device=device)",
    ".cuda()",
    ".to(device, torch.float32)",
    ".to(device, non_blocking=False)",
]
_LOADERS = [
    "DataLoader(DATA, batch_size=4, num_workers=2, pin_memory=True)",
    "DataLoader(DATA, 3, False, None, None, 1, pin_memory=True)",
]


@st.composite
def programs(draw: st.DrawFn) -> str:
    """One or two passes over a loader."""
    lines = [f"loader = {draw(st.sampled_from(_LOADERS))}{draw(comments())}"]
    for _ in range(draw(st.integers(1, 3))):
        lines += draw(_loop())
    return program("\n".join([*lines, "return [float(value) for value in seen]"]))


@st.composite
def _loop(draw: st.DrawFn) -> list[str]:
    moves = [m for m in _MOVES if "cuda" not in m]
    x, y = draw(st.sampled_from(moves)), draw(st.sampled_from([m for m in moves if "float" not in m]))
    comment = draw(comments())
    shape = draw(st.sampled_from(["two", "tuple", "inline", "enumerate", "over lines", "batch"]))
    head, copies, seen = "for x, y in loader:", [f"x = x{x}{comment}", f"y = y{y}"], ("x", "y")
    if shape == "tuple":
        copies = [f"x, y = x{x}, y{y}{comment}"]
    elif shape == "inline":
        copies, seen = [], (f"x{x}", f"y{y}")
    elif shape == "enumerate":
        head = "for step, (x, y) in enumerate(loader):"
    elif shape == "over lines" and x == ".to(device)":
        copies[0] = f"x = x.to(\n        device,{comment}\n    )"
    elif shape == "batch":
        head, copies = "for batch in loader:", [f"x = batch[0]{x}{comment}", f"y = batch[1]{y}"]
    body = [
        *copies,
        f"loss = F.cross_entropy(model({seen[0]}), {seen[1]})",
        *STEP.splitlines(),
        "seen.append(loss.detach())",
    ]
    return [head, *(f"    {line}" for line in body)]
