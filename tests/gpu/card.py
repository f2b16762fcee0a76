"""Whether this machine has a card that torch can use."""

import importlib.util


def has_device():
    if importlib.util.find_spec("torch") is None:
        return False
    import torch

    return torch.cuda.is_available()
