"""Files that never speak of a device, and programs in one file that train what they define: all stays on the host.

In a folder of such scripts others may move to the device what they train; that says nothing of this one.
"""

from __future__ import annotations

from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.patterns import pattern

_ELSEWHERE = (
    *("device", "cuda", ".to(", "accelerat", "gpu", "lightning", "trainer", "set_default", "fabric", "ignite"),
    "deepspeed",
)
"""In small letters, the most frequent first."""
_BACKENDS = pattern(r"\b(?:mps|xpu|xla)\b")
_ON_HOST = pattern(r"\.(?:detach\(\)|data)\.numpy\(\)")
"""What raises for a tensor on a device: whoever writes it without a word of devices runs on the host."""
_DRAWS = pattern(r"= torch\.randn?\(")
_RUNS = pattern(r"\bself\(")
_COPIES = pattern(r"\.cpu\(|force=True")
_OPTIMIZER = pattern(r"\b(?:optim\.\w+|adam\.Adam|Adam\w*|SGD|RMSprop|Adagrad|Adadelta)\(")
_NETWORK = pattern(r"\bnn\.(?:Module|Sequential|Linear)\b|\bModule\)")


def stays_on_host(file: SourceFile) -> bool:
    """Whether a file names no device, and takes arrays of what it computes without a copy, or is a program of its own.

    Such a program trains its own network and uses nothing of the project.
    """
    return file.once(_judged)


def hands_out_arrays(file: SourceFile) -> bool:
    """Whether a file names no device, and takes arrays of what it computes without a copy: on a device that raises."""
    return file.once(_takes_arrays)


def _takes_arrays(file: SourceFile) -> bool:
    text = file.text
    if not _ON_HOST.search(text) or _COPIES.search(text) or _names_a_device(file):
        return False
    return not _only_checks_itself(file)


def _names_a_device(file: SourceFile) -> bool:
    if file.mentions(_ELSEWHERE[:3]):
        return True
    small = file.text.lower()  # texts are sought for words in a tenth of the time that one expression of them takes
    return any(word in small for word in _ELSEWHERE) or _BACKENDS.search(small) is not None


def _judged(file: SourceFile) -> bool:
    text = file.text
    if _names_a_device(file):
        return False
    if hands_out_arrays(file):
        return True
    if ".backward(" not in text:
        return False
    if not _OPTIMIZER.search(text) or not _NETWORK.search(text):
        return False
    imported = (*file.outline.imports.values(), *file.outline.stars)
    return all(file.project.index.module(module, file.path) is None for name in imported for module in _modules(name))


def _only_checks_itself(file: SourceFile) -> bool:
    """Whether arrays are taken only by methods that compare what a module makes of numbers they have just drawn.

    Such a check (`x = torch.randn(3, c, 10, 10)`, `self(x).detach().numpy()`) is for the host, where its author ran it;
    what passes through the module elsewhere is its user's.
    """
    methods = [record for record in file.outline.functions if record.class_index >= 0 and record.name != "forward"]
    checks = [record for record in methods if _is_a_check("\n".join(file.lines[record.line - 1 : record.end_line]))]
    taken = [number for number, line in enumerate(file.lines, 1) if _ON_HOST.search(line)]
    return all(any(record.line <= line <= record.end_line for record in checks) for line in taken)


def _is_a_check(method: str) -> bool:
    return bool(_DRAWS.search(method) and _RUNS.search(method))


def _modules(name: str) -> tuple[str, ...]:
    """What may be the module of an imported name: `agents.dqn` and `agents` of `agents.dqn.Agent`."""
    head, _, _ = name.rpartition(".")
    return (name, head) if head.strip(".") else (name,)
