"""Samples that are made of lists of arrays, all of one dtype in each list."""

from __future__ import annotations

from fixes.programs import STEP, comments, program
from hypothesis import strategies as st

UNSAFE = True

_ARRAYS = {
    "np.full({shape}, {c})": "float",
    "np.zeros({shape}, dtype=np.float32)": "float",
    "np.arange({c}, {c} + 4).astype(np.float32)": "float",
    "np.asarray([{c}, 2, 3, 4])": "whole",
    "np.ones({shape}, dtype=np.uint8)": "whole",
    "np.full({shape}, 0.1, dtype=np.float16)": "float",
    "np.linspace(0, 1, 4) * {c}": "float",
}
_CALLS = ["torch.tensor({})", "torch.as_tensor({}, dtype=torch.float32)", "torch.tensor({}, dtype=torch.float64)"]
_OF_FRACTIONS = ["torch.FloatTensor({})", "torch.Tensor({})", "torch.asarray({}).float()"]


@st.composite
def _made(draw: st.DrawFn, number: int) -> str:
    """One tensor and its use."""
    shape = draw(st.sampled_from(["4", "(2, 4)", "(1, 2, 4)"]))
    form = draw(st.sampled_from(sorted(_ARRAYS)))
    array = form.format(shape=shape, c=draw(st.integers(1, 5)))
    call = draw(st.sampled_from(_CALLS + (_OF_FRACTIONS if _ARRAYS[form] == "float" else [])))
    turns = draw(st.integers(1, 3))
    listed = draw(st.sampled_from(["literal", "comprehension", "name", "filled"]))
    name, comment = f"m{number}", draw(comments())
    use = f"seen += [{name}.element_size(), {name}.is_floating_point(), *{name}.shape, float({name}.double().sum())]"
    if listed == "literal":
        return f"{name} = {call.format('[' + ', '.join([array] * turns) + ']')}{comment}\n{use}"
    each = f"[{array} for _ in range({turns})]"
    if listed == "comprehension":
        return f"{name} = {call.format(each)}{comment}\n{use}"
    if listed == "name":
        return f"parts = {each}\n{name} = {call.format('parts')}{comment}\n{use}"
    return f"parts = []\nfor _ in range({turns}):\n    parts.append({array})\n{name} = {call.format('parts')}\n{use}"


@st.composite
def programs(draw: st.DrawFn) -> str:
    """A training loop that makes some tensors in every step."""
    made = "\n".join(draw(_made(number)) for number in range(draw(st.integers(3, 6))))
    body = (
        "for x, y in DataLoader(DATA, batch_size=4):\n"
        "    x, y = x.to(device, non_blocking=True), y.to(device, non_blocking=True)\n"
        "    loss = F.cross_entropy(model(x), y)\n"
        + "".join(f"    {line}\n" for line in (*STEP.splitlines(), *made.splitlines()))
        + "return seen"
    )
    return "import numpy as np\n" + program(body)
