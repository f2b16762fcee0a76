"""Losses summed up with their graphs, for an epoch or for all, and read as a number behind."""

from __future__ import annotations

from fixes.programs import STEP, comments, program
from hypothesis import strategies as st

_ADDED = [
    "loss",
    "loss * x.size(0)",
    "0.5 * loss",
    "loss / 3",
    "-loss",
    "other",
    "loss + other",
    "F.mse_loss(out, out * 2)",
]
_READ = ["{}.item()", "({} / len(loader)).item()", "{}.item() / len(loader)", "(2 * {} / len(loader)).item()"]
_BEGUN = ["0", "0.0", "1.5"]


def check(before: str, after: str) -> None:
    """Nothing is read earlier than it was."""
    assert after.count(".detach()") > before.count(".detach()")
    assert after.count(".item()") == before.count(".item()")


@st.composite
def programs(draw: st.DrawFn) -> str:
    """Sums over steps, and over epochs."""
    sums = [(f"s{n}", draw(st.sampled_from(_ADDED)), draw(st.booleans())) for n in range(draw(st.integers(3, 6)))]
    begun = {name: f"{name} = {draw(st.sampled_from(_BEGUN))}\n" for name, _, _ in sums}
    read = {name: draw(st.sampled_from(_READ)).format(name) for name, _, _ in sums}
    forms = ["{0} += {1}", "{0} = {0} + {1}", "{0} += ({1})", "{0} = {0} + ({1})"]
    lines = [draw(st.sampled_from(forms)).format(name, value) + draw(comments()) for name, value, _ in sums]
    body = [
        f"loader = DataLoader(DATA, batch_size={draw(st.integers(3, 6))})\n",
        *(begun[name] for name, _, outer in sums if outer),
        f"for epoch in range({draw(st.integers(1, 2))}):\n",
        *(f"    {begun[name]}" for name, _, outer in sums if not outer),
        "    for x, y in loader:\n",
        "        x, y = x.to(device, non_blocking=True), y.to(device, non_blocking=True)\n",
        "        out = model(x)\n        other = out.square().mean()\n",
        "        loss = F.cross_entropy(out, y) + 0.1 * other\n",
        *(f"        {line}\n" for line in (*STEP.splitlines(), *lines)),
        *(f"    seen.append({read[name]})\n" for name, _, outer in sums if not outer),
        f"return [*seen, {', '.join(read[name] for name, _, outer in sums if outer)}]",
    ]
    return program("".join(body))
