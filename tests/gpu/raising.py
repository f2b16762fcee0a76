"""Exceptions that are on their way while tensors of the device are freed: raising.py prints what arrives of each.

`raising.py bare` activates torch's callbacks by itself and watches nothing: what torch alone makes of them.
"""

import sys

import torch
from torch.utils.data import DataLoader

torch.manual_seed(0)


def arrives(call):
    """The type and the text, if short, of what a call raises."""
    try:
        call()
    except Exception as error:  # noqa: BLE001 -- whatever arrives is the answer
        return f"{type(error).__name__}: {str(error).splitlines()[0][:60]}"
    return "nothing"


class Enough(Exception):  # noqa: N818 -- named as scripts name theirs
    """How some scripts leave their loops."""


def shapes():
    x = torch.ones(3, 4, device="cuda")
    return arrives(lambda: torch.mm(x + 1, x * 2))


def key():
    x = torch.ones(1000, device="cuda")
    table = {}
    return arrives(lambda: x + 1 + table[x * 2])


def deep():
    x = torch.ones(1000, device="cuda")

    def fail(_):
        raise Enough("deep")

    return arrives(lambda: torch.cat([x + 1, x * 2 + fail(x * 3)]))


def memory():
    x = torch.ones(1000, device="cuda")
    return arrives(lambda: torch.add(x + 1, torch.empty(1 << 50, dtype=torch.uint8, device="cuda")))


def loop():
    def train():
        loader = DataLoader(torch.randn(256, 64), batch_size=8, num_workers=2, pin_memory=True)
        for number, batch in enumerate(loader):
            batch.to("cuda", non_blocking=True).sum()
            if number == 5:
                raise Enough("loop")

    return arrives(train)


CASES = {case.__name__: case for case in (shapes, key, deep, memory, loop)}


if __name__ == "__main__":
    torch.ones(3).to("cuda")
    if "bare" in sys.argv[1:]:
        torch._C._activate_gpu_trace()
    for name, case in CASES.items():
        print(name, case(), flush=True)
    total = torch.zeros((), device="cuda")
    for _ in range(5):
        total += torch.ones((), device="cuda").item()
    print("total", total.item())
