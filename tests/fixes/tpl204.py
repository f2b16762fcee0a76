"""Copies to the host that are not waited for, and read. A simulated copy is there at once: the numbers are the same."""

from __future__ import annotations

from fixes.programs import STEP, comments, program
from hypothesis import strategies as st

MORE = ("d2h-blocking",)

_COPIES = [
    '.to("cpu", non_blocking=True)',
    '.to(device="cpu", non_blocking=True)',
    '.to(non_blocking=True, device="cpu")',
    '.to(torch.device("cpu"), non_blocking=True{comment}\n    )',
    '.to(\n        "cpu",{comment}\n        non_blocking=True,\n    )',
]
_SOURCES = ["loss.detach()", "out.detach().mean()", "out.argmax(1)", "(out.argmax(1) == y).sum()", "out.detach()[0]"]
_READS = [
    "told += {name}.flatten().tolist()",
    "told.append({name}.sum().item())",
    "told.append(float({name}.sum()))",
    "told += [float(v) for v in {name}.reshape(-1).numpy()]",
]


@st.composite
def programs(draw: st.DrawFn) -> str:
    """A loop that looks at some of its figures."""
    lines = ["told = []", "for x, y in DataLoader(DATA, batch_size=4):", "    x, y = x.to(device), y.to(device)"]
    lines += [
        "    out = model(x)",
        "    loss = F.cross_entropy(out, y)",
        *(f"    {line}" for line in STEP.splitlines()),
    ]
    for number in range(draw(st.integers(2, 6))):
        copy = draw(st.sampled_from(_SOURCES)) + draw(st.sampled_from(_COPIES)).format(comment=draw(comments()))
        if draw(st.booleans()):
            lines.append(f"    told += {copy}.flatten().tolist()")
            continue
        lines += [f"    n{number} = {copy}{draw(comments())}", f"    {draw(st.sampled_from(_READS))}"]
        lines[-1] = lines[-1].format(name=f"n{number}")
    return program("\n".join([*lines, "return told"]))
