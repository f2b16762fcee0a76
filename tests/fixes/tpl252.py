"""Single numbers that are uploaded in `forward` and in the loop."""

from __future__ import annotations

from fixes.programs import STEP, comments, program
from hypothesis import strategies as st

FEWER = "h2d"

_NUMBERS = ["0.0", "1", "0.1", "-2.5", "3e-5", "float('-inf')", "math.pi", "-math.inf", "1e-45"]
_DTYPES = ["", "", ", dtype=torch.float16", ", dtype=torch.int64", ", dtype={x}.dtype", ", dtype=torch.float64"]
_WRITTEN = [
    "torch.tensor({n}{dtype}, device={device})",
    "torch.tensor({n}, device={device}{dtype})",
    "torch.as_tensor({n}{dtype}, device={device})",
    "tensor({n}, device={device}{dtype})",
]
_OTHERS = [
    "torch.tensor({n}{dtype}).to({device})",
    "torch.tensor({n}{dtype}).to(device={device}, non_blocking=True)",
    "torch.tensor(\n        {n}{dtype},{comment}\n    ).to({device})",
    "{x}.new_tensor({n})",
]


@st.composite
def _number(draw: st.DrawFn, written: list[str], x: str) -> str:
    """One number, and its dtype and value in a list."""
    text, number = draw(st.sampled_from(written)), draw(st.sampled_from(_NUMBERS))
    dtypes = [d for d in _DTYPES if "int" not in d] if "inf" in number else _DTYPES
    dtype = draw(st.sampled_from(dtypes)).format(x=x)
    return text.format(n=number, dtype=dtype, device=f"{x}.device", x=x, comment=draw(comments()))


@st.composite
def programs(draw: st.DrawFn) -> str:
    """A model and a loop that make some; what they are made of, and are, is told."""
    inner = [draw(_number(_WRITTEN, "x")), draw(_number([*_WRITTEN, *_OTHERS], "x"))]
    forward = "".join(f"c{n} = {text}{draw(comments())}\nKEPT.append(c{n})\n" for n, text in enumerate(inner))
    loop = "".join(f"    KEPT.append({draw(_number([*_WRITTEN, *_OTHERS], 'x'))})\n" for _ in range(2))
    default = draw(st.sampled_from(["default", "torch.float64"]))
    body = [
        f"default = torch.get_default_dtype()\ntorch.set_default_dtype({default})\n",
        "for x, y in DataLoader(DATA, batch_size=6):\n",
        "    x, y = x.to(device, non_blocking=True), y.to(device, non_blocking=True)\n",
        loop,
        "    loss = F.cross_entropy(model(x), y)\n",
        *(f"    {line}\n" for line in STEP.splitlines()),
        "    seen.append(loss.detach())\n",
        "torch.set_default_dtype(default)\n",
        "seen += [f'{kept} {kept.dtype} {kept.shape} {kept.is_leaf}' for kept in KEPT]\n",
        "return seen",
    ]
    head = "import math\n\nfrom torch import tensor\n\nKEPT = []\n"
    return head + program("".join(body), forward.rstrip("\n"))
