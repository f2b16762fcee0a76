"""The public spelling of what torch and Lightning let one import in several ways."""

from __future__ import annotations

_CANONICAL = {
    "torch.utils.data.dataloader.DataLoader": "torch.utils.data.DataLoader",
    "torch.utils.data.dataset.Dataset": "torch.utils.data.Dataset",
    "torch.nn.parallel.data_parallel.DataParallel": "torch.nn.DataParallel",
    "torch.nn.parallel.DataParallel": "torch.nn.DataParallel",
    "torch.nn.modules.module.Module": "torch.nn.Module",
    "torch.nn.modules.Module": "torch.nn.Module",
    "torch.nn.modules.loss._Loss": "torch.nn.Module",
    "torch.nn.modules.loss._WeightedLoss": "torch.nn.Module",
    "torch.optim.optimizer.Optimizer": "torch.optim.Optimizer",
    "torch.jit.ScriptModule": "torch.nn.Module",
    "torch.nn.parameter.Parameter": "torch.nn.Parameter",
    "torch.nn.parameter.Buffer": "torch.nn.Buffer",
    "torch.functional": "torch",
    "torch.autograd.function.Function": "torch.autograd.Function",
    "torch.cuda.memory.empty_cache": "torch.cuda.empty_cache",
}


_LIGHTNING = ("pytorch_lightning.", "lightning.pytorch.", "lightning.")


def canonical(dotted: str) -> str:
    """The public spelling of a torch name that can be imported in several ways."""
    found = _CANONICAL.get(dotted)
    if found or "()" in dotted:
        return found or dotted
    for prefix in _LIGHTNING if dotted.startswith(_LIGHTNING) else ():
        if dotted.startswith(prefix) and dotted.count(".") <= prefix.count(".") + 2:
            return "lightning." + dotted.rpartition(".")[2]
    return dotted
