"""Figures of a step that are read one after another."""

from __future__ import annotations

from fixes.programs import comments, program
from hypothesis import strategies as st

UNSAFE = True
FEWER = "sync"
MORE = ("d2h", "d2h-blocking")

_FIGURES = [
    "loss",
    "norm",
    "accuracy",
    "both",
    "out.mean()",
    "out.detach().std()",
    "x.norm()",
    "loss.detach()",
    "right.float().sum()",
]
_READS = ["{f}.item()", "{f}.item()", "float({f})", "math.exp({f})"]


@st.composite
def programs(draw: st.DrawFn) -> str:
    """Passes over a loader that keep a few of them."""
    passes = "".join(draw(_pass()) for _ in range(draw(st.integers(2, 3))))
    return "import math\n\n" + program(f"criterion = nn.CrossEntropyLoss()\n{passes}return seen")


@st.composite
def _pass(draw: st.DrawFn) -> str:
    figures = draw(st.lists(st.sampled_from(_FIGURES), min_size=2, max_size=5, unique=True))
    reads = [draw(st.sampled_from(_READS)).format(f=figure) for figure in figures]
    layout = draw(st.sampled_from(["list", "statements", "lines", "calls"]))
    told = {
        "list": [f"seen += [{', '.join(reads)}]{draw(comments())}"],
        "statements": [f"seen.append({read}){draw(comments())}" for read in reads],
        "lines": ["seen += [", *(f"    {read},{draw(comments())}" for read in reads), "]"],
        "calls": [f"seen.extend(({read}, {number}))" for number, read in enumerate(reads)],
    }[layout]
    body = [
        "for x, y in DataLoader(DATA, batch_size=4):\n",
        "    x, y = x.to(device, non_blocking=True), y.to(device, non_blocking=True)\n",
        "    out = model(x)\n    right = out.argmax(1) == y\n    accuracy = right.float().mean()\n",
        f"    loss = {draw(st.sampled_from(['F.cross_entropy(out, y)', 'criterion(out, y)']))}\n",
        "    optimizer.zero_grad()\n    loss.backward()\n",
        "    norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n    optimizer.step()\n",
        "    both = 0.5 * loss + norm / 2\n",
        *(f"    {line}\n" for line in told),
    ]
    return "".join(body)
