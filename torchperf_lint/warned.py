"""What torch's own warnings about speed mean, which rule has more about each, and where torch says it. Torch-free."""

from __future__ import annotations

from typing import NamedTuple


class Warned(NamedTuple):
    """One kind of warning."""

    parts: tuple[str, ...]
    """All of them stand in the first line of its text."""
    source: str
    """File below `torch/` (of `torch.__file__`), or a C++ file of torch's repository, or another package's."""
    title: str
    advice: str
    code: str | None = None
    """The rule that has more about it."""
    to_know: bool = False
    """Whether there is nothing to change but an expectation."""
    of_machine: bool = False
    """Whether it compares with the cores of this machine, which are not those of one with a GPU."""


KINDS = (
    Warned(
        ("Creating a tensor from a list of numpy.ndarrays is extremely slow",),
        "torch/csrc/utils/tensor_new.cpp",
        "a tensor is made from a list of arrays, element by element",
        "make one array of them first: `torch.from_numpy(numpy.stack(arrays))`",
        "TPL255",
    ),
    Warned(
        ("This DataLoader will create", "worker processes in total"),
        "utils/data/dataloader.py",
        "a loader starts more workers than the process may use cores",
        "lower `num_workers` to the number that the warning suggests, and share it among the processes of a node",
        "TPL906",
        of_machine=True,
    ),
    Warned(
        ("'pin_memory' argument is set as true but",),
        "utils/data/dataloader.py",
        "`pin_memory=True` does nothing here: no accelerator was found",
        "where a GPU should be there, see whether this torch is built for it",
        "TPL560",
        to_know=True,
    ),
    Warned(
        ("find_unused_parameters=True was specified in DDP constructor, but did not find any unused parameters",),
        "torch/csrc/distributed/c10d/logger.cpp",
        "every backward pass looks for unused parameters, and there are none",
        "leave `find_unused_parameters` out where the forward pass is always the same",
        "TPL752",
    ),
    Warned(
        ("Grad strides do not match bucket view strides",),
        "torch/csrc/distributed/c10d/reducer.cpp",
        "gradients are copied to the buckets of DDP, as their layout differs",
        "give weights their memory format before the model is wrapped, and make what is fed in contiguous",
    ),
    Warned(
        ("TensorFloat32 tensor cores for float32 matrix multiplication available but not enabled",),
        "_inductor/compile_fx.py",
        "float32 products do not use the TensorFloat32 cores of this device",
        "`torch.set_float32_matmul_precision('high')`, where its precision suffices",
        "TPL501",
    ),
    Warned(
        ("RNN module weights are not part of single contiguous chunk of memory",),
        "aten/src/ATen/native/cudnn/RNN.cpp",
        "an RNN's weights are compacted at every call",
        "call `flatten_parameters()` once after the module was copied, moved or changed",
    ),
    Warned(
        ("Was asked to gather along dimension 0, but all input tensors were scalars",),
        "nn/parallel/_functions.py",
        "`nn.DataParallel` gathers one loss of each replica",
        "train with DistributedDataParallel, one process for each device",
        "TPL751",
    ),
    Warned(
        ("There is an imbalance between your GPUs",),
        "nn/parallel/data_parallel.py",
        "`nn.DataParallel` waits for the slower of unequal devices",
        "leave the small device out, and train with DistributedDataParallel",
        "TPL751",
    ),
    Warned(
        ("Anomaly Detection has been enabled. This mode will increase the runtime",),
        "autograd/anomaly_mode.py",
        "autograd's anomaly detection is on",
        "turn it on to find a fault, and off again",
        "TPL551",
    ),
    Warned(
        ("CUDA is not available or torch_xla is imported. Disabling autocast",),
        "amp/autocast_mode.py",
        "autocast for CUDA does nothing here: there is no CUDA",
        "where a GPU should be there, see whether this torch is built for it",
        "TPL560",
        to_know=True,
    ),
    Warned(
        ("GradScaler is enabled, but CUDA is not available",),
        "amp/grad_scaler.py",
        "the GradScaler does nothing here: there is no CUDA",
        "where a GPU should be there, see whether this torch is built for it",
        "TPL560",
        to_know=True,
    ),
    Warned(
        ("This instance was constructed with capturable=True", "graph capture"),
        "optim/optimizer.py",
        "an optimizer is ready for CUDA graphs, and none is captured",
        "leave `capturable` out",
    ),
    Warned(
        ("enable_nested_tensor is True, but self.use_nested_tensor is False",),
        "nn/modules/transformer.py",
        "an encoder cannot take its fast path for padded batches",
        "the warning names the setting that keeps it from it, such as `batch_first=True`; in training there is none",
        to_know=True,
    ),
    Warned(
        ("flex_attention called without torch.compile()",),
        "nn/attention/flex_attention.py",
        "`flex_attention` runs unfused, with all scores in memory",
        "call `torch.compile(flex_attention)`",
    ),
    Warned(
        ("The passed-in `module` is on CPU and will thus have FSDP's sharding initialization run on CPU",),
        "distributed/fsdp/_init_utils.py",
        "FSDP shards the model on the CPU",
        "pass `device_id`: it concerns the start alone",
        to_know=True,
    ),
    Warned(
        ("Detected uneven input skew of greater than",),
        "distributed/algorithms/join.py",
        "ranks have unequal numbers of batches, and those that are done wait for the others",
        "share the samples out evenly",
        "TPL763",
    ),
    Warned(
        ("There is a performance drop because we have not yet implemented",),
        "aten/src/ATen/functorch/BatchedFallback.cpp",
        "`vmap` has no batched form of an operation, and loops over it",
        "write the batch dimension out for that operation",
    ),
    Warned(
        ("non-contiguous, this will lower the performance due to extra data copy",),
        "aten/src/ATen/native/BucketizationUtils.h",
        "`searchsorted` or `bucketize` copies what is not contiguous at each call",
        "make it contiguous once, outside of the loop",
    ),
    Warned(
        ("does not have many workers which may be a bottleneck",),
        "lightning: trainer/connectors/data_connector.py",
        "Lightning: a loader has few workers",
        "whether it is a bottleneck is measured: the loader's share of the step",
        "TPL301",
        to_know=True,
    ),
)
"""Each is about speed. Texts are those of torch 2.13."""


def about(text: str) -> Warned | None:
    """The kind of a warning by the first line of its text; None for others."""
    return next((kind for kind in KINDS if all(part in text for part in kind.parts)), None)
