"""What a training step computes with: the dtypes of its matrix products and convolutions, and the layout of weights.

Read once, after the warm-up, from the graph that autograd has recorded for a backward pass: what autocast did is seen
there after it has ended. Only what torch says of its nodes is read; saved tensors are left alone, for asking for them
would recompute checkpoints. What a compiled or a checkpointed region holds cannot be seen.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torchperf_lint.runtime.session import Session

NAME = "precision"
_MOST_NODES = 5000
"""Some 5 ms, once."""
_PRODUCTS = ("AddmmBackward", "MmBackward", "BmmBackward", "BaddbmmBackward", "LinearBackward", "ScaledDotProduct")
_CONVOLUTION = "ConvolutionBackward"
_HIDES = ("CompiledFunction", "CheckpointFunction", "GraphModule", "SubmodCompiled")
_WEIGHT = 1
"""Which input of a convolution its weight is."""
_CASTS = 3
"""So many steps at most lie between a convolution and the parameter that its weight was cast from."""


def install(session: Session, torch: Any) -> str | None:  # noqa: ANN401
    """Look at one backward pass; a simulated device computes with whatever it is given."""
    if session.simulated:
        return None
    looker = _Looker(session, torch)
    session.restarts.append(looker.restart)
    looker.restart()
    return None


class _Looker:
    def __init__(self, session: Session, torch: Any) -> None:  # noqa: ANN401
        self.session = session
        self.torch = torch
        self._look = session.guarded(NAME, self.look)

    def restart(self) -> None:
        """A forked child looks for itself."""
        if self._look not in self.session.on_backward:
            self.session.on_backward.append(self._look)

    def look(self, tensors: Any) -> None:  # noqa: ANN401
        """At the first backward pass after the warm-up."""
        if self.session.timeline.steps < self.session.timeline.warmup:
            return
        self.session.on_backward.remove(self._look)
        several = tensors if isinstance(tensors, (list, tuple)) else (tensors,)
        # Tensors of other kinds, and modes that the script is in, are not to hear of our questions.
        with self.torch._C.DisableTorchFunction():
            graph = graph_of(several, self.torch.channels_last)
        self.session.recorder.state("graph", graph)


def graph_of(tensors: Iterable[Any], channels_last: Any) -> dict[str, Any]:  # noqa: ANN401
    """What the graph behind these tensors computes, by kind and dtype; `channels_last`: torch's memory format."""
    found: dict[str, Any] = {
        "nodes": 0,
        "cut": False,
        "hidden": 0,
        "matmuls": {},
        "convolutions": {},
        "depthwise": 0,
        "planar": 0,
        "channels_last": 0,
    }
    for node in _nodes(tensors, found):
        name = node.name()
        if _CONVOLUTION in name:
            _count(found["convolutions"], node)
            _weigh(found, node, channels_last)
        elif name.startswith(_PRODUCTS):
            _count(found["matmuls"], node)
        elif name.startswith(_HIDES):
            found["hidden"] += 1
    return found


def _nodes(tensors: Iterable[Any], found: dict[str, Any]) -> Iterator[Any]:
    waiting = [node for node in (getattr(tensor, "grad_fn", None) for tensor in tensors) if node is not None]
    seen = set(waiting)
    while waiting:
        if found["nodes"] >= _MOST_NODES:
            found["cut"] = True
            return
        node = waiting.pop()
        found["nodes"] += 1
        yield node
        for following, _ in node.next_functions:
            if following is not None and following not in seen:
                seen.add(following)
                waiting.append(following)


def _count(counts: dict[str, int], node: Any) -> None:  # noqa: ANN401
    """By the dtype of what the operation returned; not at all where this torch does not tell (before 2.1 or so)."""
    outputs = getattr(node, "_input_metadata", None)
    if outputs:
        dtype = str(outputs[0].dtype).removeprefix("torch.")
        counts[dtype] = counts.get(dtype, 0) + 1


def _weigh(found: dict[str, Any], node: Any, channels_last: Any) -> None:  # noqa: ANN401
    """Count the layout of a convolution's weight, where its shape tells layouts apart."""
    weight = _weight_of(node)
    if weight is None or weight.dim() != 4:
        return
    if weight.shape[1] == 1:
        found["depthwise"] += 1
    elif weight.shape[2] * weight.shape[3] > 1:
        found["planar"] += 1
        found["channels_last"] += weight.is_contiguous(memory_format=channels_last)


def _weight_of(node: Any) -> Any | None:  # noqa: ANN401
    """The parameter behind a convolution's weight; None where more than casts lie between."""
    inputs = node.next_functions
    source = inputs[_WEIGHT][0] if len(inputs) > _WEIGHT else None
    for _ in range(_CASTS):
        if source is None or hasattr(source, "variable"):
            break
        source = source.next_functions[0][0] if source.name().startswith("ToCopyBackward") else None
    return getattr(source, "variable", None)
