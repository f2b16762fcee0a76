"""Masks, positions and constants that `forward` makes on the host and moves."""

from __future__ import annotations

from fixes.programs import STEP, comments, program
from hypothesis import strategies as st

FEWER = "h2d"

_FACTORIES = {
    "torch.zeros(x.size(0), {w})": 2,
    "torch.ones({w}, {w})": 2,
    "torch.ones(({w},), dtype=torch.bool)": 1,
    "torch.full((2, {w}), {c})": 2,
    "torch.full(({w},), float('-inf')).exp()": None,
    "torch.eye({w})": 2,
    "torch.arange({w})": 1,
    "torch.arange(0, {w}, 2)": 1,
    "torch.arange({c}, {c} + {w}, dtype=torch.float32)": 1,
    "torch.arange({w} - 1, -1, -1)": 1,
    "torch.tril_indices({w}, {w})": 2,
    "torch.triu_indices({w}, {w}, offset=1)": 2,
    "torch.empty({w}, 3).fill_({c})": 2,
    "torch.empty({w}).zero_()": 1,
}
_BETWEEN = [
    ".float()",
    ".long()",
    ".double()",
    ".bool()",
    ".view(-1)",
    ".unsqueeze(0)",
    ".flip(0)",
    ".clone()",
    ".reshape(-1)",
]
_OF_MATRICES = [".t()", ".triu()", ".tril(-1)", ".transpose(0, 1)", ".permute(1, 0).contiguous()"]
_MOVES = [
    ".to(x.device)",
    ".to(device)",
    ".to(device=device)",
    ".to(device, non_blocking=True)",
    ".to(x)",
    ".to(device, torch.float64)",
    ".to(x.device, dtype=torch.float32)",
    ".to(dtype=torch.int64, device=x.device)",
]


@st.composite
def _made(draw: st.DrawFn, number: int) -> str:
    """One tensor, written in one of the ways people write it, and its use."""
    factory = draw(st.sampled_from([name for name, rank in _FACTORIES.items() if rank is not None]))
    call = factory.format(w=draw(st.integers(2, 5)), c=draw(st.integers(1, 3)))
    matrix = _FACTORIES[factory] == 2
    between = draw(st.lists(st.sampled_from(_BETWEEN), max_size=2))
    if matrix and draw(st.booleans()):
        between.insert(0, draw(st.sampled_from(_OF_MATRICES)))
    if ".permute" in "".join(between) or "t()" in "".join(between) or "transpose" in "".join(between):
        between = [method.replace(".view(", ".reshape(") for method in between]
    move, comment, name = draw(st.sampled_from(_MOVES)), draw(comments()), f"m{number}"
    use = f"out = out + 0.01 * {name}.float().sum()"
    layout = draw(st.sampled_from(["line", "lines", "chain", "statements", "inline"]))
    if layout == "inline":
        return f"out = out + 0.01 * {call}{''.join(between)}{move}.float().sum(){comment}"
    if layout == "lines" and ".fill_" not in call and ".zero_" not in call:
        inner = call[call.index("(") + 1 : -1]
        return f"{name} = {call[: call.index('(')]}(\n    {inner},{comment}\n){''.join(between)}{move}\n{use}"
    if layout == "chain":
        return f"{name} = (\n    {call}\n    " + "\n    ".join([*between, move]) + f"{comment}\n)\n{use}"
    if layout == "statements" and "x)" not in move and "torch." not in move:
        return f"{name} = {call}{''.join(between)}{comment}\n{name} = {name}{move}\n{use}"
    return f"{name} = {call}{''.join(between)}{move}{comment}\n{use}"


@st.composite
def programs(draw: st.DrawFn) -> str:
    """A model whose `forward` makes some tensors, trained for some steps."""
    made = [draw(_made(number)) for number in range(draw(st.integers(2, 5)))]
    body = (
        "for x, y in DataLoader(DATA, batch_size=4):\n"
        "    x, y = x.to(device, non_blocking=True), y.to(device, non_blocking=True)\n"
        "    loss = F.cross_entropy(model(x), y)\n"
        + "".join(f"    {line}\n" for line in STEP.splitlines())
        + "    seen.append(loss.detach())\n"
        "return [float(value) for value in seen]"
    )
    return program(body, "\n".join(made))
