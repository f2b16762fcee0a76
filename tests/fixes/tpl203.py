"""Loops over pinned loaders whose batches are pinned once more, where there is a device to pin for."""

from __future__ import annotations

from fixes.programs import STEP, comments, program
from hypothesis import strategies as st

_LOADERS = [
    "DataLoader(DATA, batch_size=4, num_workers=2, pin_memory=True)",
    "DataLoader(DATA, 3, False, None, None, 1, pin_memory=torch.cuda.is_available())",
    "DataLoader(DATA, batch_size=5, pin_memory=True)",
]
_MOVES = [".to(device, non_blocking=True)", ".cuda(non_blocking=True)", ".to(device)", ".to('cuda', non_blocking=True)"]
_COPIES = [
    ["x = {x}.pin_memory(){move}{comment}", "y = {y}.pin_memory(){move}"],
    ["x, y = {x}.pin_memory(){move}, {y}.pin_memory(){move}{comment}"],
    ["x = {x}.pin_memory(){comment}", "x = x{move}", "y = {y}.pin_memory(){move}"],
    ["x = (\n        {x}\n        .pin_memory(){comment}\n        {move}\n    )", "y = {y}.pin_memory(){move}"],
    ["x = {x}.pin_memory().float(){move}", "y = {y}.pin_memory(){comment}", "y = y{move}"],
]


@st.composite
def programs(draw: st.DrawFn) -> str:
    """Some passes over a loader."""
    lines = [f"loader = {draw(st.sampled_from(_LOADERS))}{draw(comments())}"]
    for _ in range(draw(st.integers(1, 3))):
        lines += draw(_loop())
    return program("\n".join([*lines, "return [float(value) for value in seen]"]))


@st.composite
def _loop(draw: st.DrawFn) -> list[str]:
    head, x, y = draw(
        st.sampled_from(
            [
                ("for x, y in loader:", "x", "y"),
                ("for step, (x, y) in enumerate(loader):", "x", "y"),
                ("for batch in loader:", "batch[0]", "batch[1]"),
            ]
        )
    )
    copies = [
        line.format(x=x, y=y, move=draw(st.sampled_from(_MOVES)), comment=draw(comments()))
        for line in draw(st.sampled_from(_COPIES))
    ]
    return [
        head,
        "    if torch.cuda.is_available():",
        *(f"        {line}".replace("\n", "\n    ") for line in copies),
        "    else:",
        f"        x, y = {x}, {y}",
        "    loss = F.cross_entropy(model(x), y)",
        *(f"    {line}" for line in STEP.splitlines()),
        "    seen.append(loss.detach())",
    ]
