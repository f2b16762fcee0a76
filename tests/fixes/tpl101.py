"""Losses and hits that are read every step only to be added up."""

from __future__ import annotations

from fixes.programs import STEP, comments, program
from hypothesis import strategies as st

UNSAFE = True
FEWER = "sync"

_FRACTIONS = [
    "loss.item()",
    "loss.detach().item()",
    "loss.item() * x.size(0)",
    "0.5 * loss.item()",
    "loss.item() / len(loader)",
    "(loss + out.mean()).item()",
]
_WHOLE = ["(out.argmax(1) == y).sum().item()", "out.argmax(1).eq(y).sum().item()", "right.sum().item()"]


@st.composite
def programs(draw: st.DrawFn) -> str:
    """Sums over steps, and over epochs."""
    sums = [(f"s{n}", draw(st.sampled_from(_FRACTIONS)), draw(st.booleans())) for n in range(draw(st.integers(1, 3)))]
    counts = [(f"n{n}", draw(st.sampled_from(_WHOLE)), draw(st.booleans())) for n in range(draw(st.integers(1, 2)))]
    over_all = "".join(f"{name} = {'0' if name[0] == 'n' else '0.0'}\n" for name, _, outer in sums + counts if outer)
    each = "".join(
        f"    {name} = {'0' if name[0] == 'n' else '0.0'}\n" for name, _, outer in sums + counts if not outer
    )
    added = "".join(f"        {name} += {value}{draw(comments())}\n" for name, value, _ in sums + counts)
    told = "".join(f"    seen.append({name})\n" for name, _, outer in sums + counts if not outer)
    body = [
        f"loader = DataLoader(DATA, batch_size={draw(st.integers(3, 6))})\n{over_all}",
        f"for epoch in range({draw(st.integers(1, 2))}):\n{each}",
        "    for x, y in loader:\n",
        "        x, y = x.to(device, non_blocking=True), y.to(device, non_blocking=True)\n",
        "        out = model(x)\n        right = out.argmax(1) == y\n        loss = F.cross_entropy(out, y)\n",
        *(f"        {line}\n" for line in STEP.splitlines()),
        f"{added}{told}",
        f"return [*seen, {', '.join(name for name, _, outer in sums + counts if outer)}]",
    ]
    return program("".join(body))
