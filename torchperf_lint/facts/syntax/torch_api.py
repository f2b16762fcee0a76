"""What torch's own functions and methods do with devices: the tables that values.py reads.

Taken from the torch 2.13 documentation and sources.
"""

from __future__ import annotations

MOVES = frozenset({"to", "cuda"})
"""Methods of tensors and modules that take them to a device."""
FILL_FACTORIES = frozenset(
    "zeros ones empty full eye arange linspace logspace tril_indices triu_indices hann_window hamming_window "
    "blackman_window bartlett_window kaiser_window nn.Transformer.generate_square_subsequent_mask".split()
)
RANDOM_FACTORIES = frozenset(["rand", "randn", "randint", "randperm", "normal"])
LIKE_FACTORIES = frozenset(
    ["zeros_like", "ones_like", "empty_like", "full_like", "rand_like", "randn_like", "randint_like"]
)
HOST_DATA = frozenset(["tensor", "as_tensor", "from_numpy", "frombuffer", "asarray"])
"""Make tensors of data that is on the host already."""
FACTORIES = FILL_FACTORIES | RANDOM_FACTORIES
SIZED_FACTORIES = FACTORIES - {"normal"}
"""Take sizes and bounds only: what they make is not made of another tensor."""
LEGACY_TYPES = frozenset(
    "Tensor FloatTensor DoubleTensor HalfTensor LongTensor IntTensor ShortTensor ByteTensor BoolTensor".split()
)
LEGACY_DTYPES = {
    "DoubleTensor": "torch.double",
    "HalfTensor": "torch.half",
    "LongTensor": "torch.long",
    "IntTensor": "torch.int",
    "ShortTensor": "torch.short",
    "ByteTensor": "torch.uint8",
    "BoolTensor": "torch.bool",
}
"""What those make that do not make what `torch.empty` does."""

PLAIN_TORCH = frozenset(
    "is_tensor is_grad_enabled is_available device_count manual_seed seed get_default_dtype numel "
    "is_floating_point is_complex equal allclose is_nonzero finfo iinfo get_rng_state set_grad_enabled "
    "get_num_threads typename is_inference_mode_enabled is_autocast_enabled Size current_device "
    "are_deterministic_algorithms_enabled get_default_device get_autocast_dtype get_device "
    "get_float32_matmul_precision get_autocast_gpu_dtype get_autocast_cpu_dtype promote_types result_type can_cast "
    "initial_seed is_warn_always_enabled is_autocast_cache_enabled is_deterministic_algorithms_warn_only_enabled "
    "is_storage is_same_size is_signed is_conj is_inference is_anomaly_enabled get_num_interop_threads "
    "get_device_name get_device_module synchronize empty_cache broadcast_shapes".split()
)
"""Functions of `torch` that do not return a tensor."""
NOT_FUNCTIONS = frozenset(
    "utils optim nn cuda distributed multiprocessing autograd jit onnx hub backends amp profiler random "
    "library compile load save no_grad enable_grad inference_mode Generator device dtype func fx export "
    "accelerator xpu mps version hub overrides package testing types storage ao quantization _dynamo "
    "_inductor _C vmap".split()
)
TENSOR_NAMESPACES = tuple(
    "torch.nn.functional. torch.linalg. torch.fft. torch.special. torch.nn.init. torch.signal.".split()
)

PLAIN_METHODS = frozenset(
    "size dim ndimension numel nelement stride storage_offset element_size data_ptr is_contiguous "
    "is_floating_point is_complex is_pinned get_device type_as_string backward register_hook requires_grad_ "
    "untyped_storage storage equal allclose is_shared has_names __len__ is_set_to is_signed retain_grad "
    "q_scale q_zero_point q_per_channel_axis qscheme is_coalesced sparse_dim dense_dim is_inference "
    "is_conj is_neg".split()
) - {"requires_grad_"}
PLAIN_ATTRIBUTES = frozenset(
    "shape ndim is_cuda is_sparse is_quantized requires_grad is_leaf layout itemsize nbytes grad_fn names "
    "is_cpu is_meta is_mps is_xpu output_nr placements device_mesh".split()
)
BATCH_SIZES = "batch_sizes"
"""The field of a `PackedSequence` that torch keeps on the host, wherever its data are."""

TENSOR_ONLY_METHODS = frozenset(
    "view permute unsqueeze unsqueeze_ contiguous detach detach_ backward expand expand_as masked_fill "
    "masked_fill_ softmax log_softmax sigmoid matmul bmm view_as scatter scatter_ scatter_add_ index_select "
    "index_fill_ clamp_ add_ mul_ sub_ div_ zero_ copy_ narrow unfold requires_grad_ register_hook new_zeros "
    "new_ones new_tensor new_full new_empty is_cuda addmm chunk unbind cuda logsumexp flip roll_ tanh relu "
    "topk gather half numel unflatten index_add_ masked_select type_as repeat_interleave".split()
)
"""Methods and attributes that tensors have and arrays, dicts and numbers have not (`cuda`, `half`: modules too)."""
TENSOR_MARKS = frozenset(
    "detach detach_ unsqueeze contiguous masked_fill permute log_softmax backward requires_grad_ new_zeros "
    "index_select type_as expand_as masked_fill_ masked_select scatter_ scatter_add_ index_add_ new_tensor".split()
)
"""Methods that show the object they are called on to be a tensor."""
DERIVING = frozenset(
    "float long half double int bool bfloat16 to type unsqueeze squeeze view reshape expand repeat t permute "
    "transpose flatten triu tril contiguous requires_grad_ fill_ zero_ normal_ uniform_ random_ bernoulli_ "
    "add_ mul_ sub_ div_ add mul sub div clone detach view_as expand_as triu_ tril_ unsqueeze_ squeeze_ byte "
    "short repeat_interleave roll flip eq ne lt le gt ge logical_not abs neg pow sqrt exp log sin cos cumsum clamp "
    "masked_fill masked_fill_ rsqrt square reciprocal bernoulli unfold unflatten narrow tile movedim swapaxes".split()
)
"""Methods whose result lies where the tensor lies and comes of it and of numbers only; a mask lies there as well."""
VIEW_ATTRIBUTES = frozenset(["T", "mT", "data"])
"""Attributes that are other views of a tensor's numbers."""
SCATTERING = frozenset("scatter scatter_ scatter_add scatter_add_ index_fill index_fill_".split())
"""Methods that put numbers where others say: one-hot rows, of zeros and labels."""
OF_THEIR_FIRST = frozenset(
    "pad interpolate softmax log_softmax normalize one_hot unfold fold roll flip tril triu unsqueeze squeeze permute "
    "transpose reshape flatten sum mean cumsum std var argmax argmin sort topk diag diagonal narrow tile".split()
)
"""Functions whose other arguments are numbers: sizes, dimensions, flags."""
TAKE_A_TENSOR = frozenset(
    "any all sum mean max min argmax argmin abs exp log log2 log10 log1p sqrt rsqrt sin cos tanh sigmoid softmax "
    "log_softmax relu clamp clip norm std var matmul mm bmm mul add sub div eq ne gt lt ge le where isnan isinf "
    "isfinite flatten reshape transpose permute squeeze unsqueeze gather index_select masked_select scatter topk sort "
    "argsort cumsum cumprod unique nonzero roll flip zeros_like ones_like rand_like randn_like empty_like full_like "
    "chunk split unbind triu tril diag logsumexp logical_and logical_or logical_not bitwise_not pow square round floor "
    "ceil sign count_nonzero multinomial bernoulli repeat_interleave tile numel cdist cosine_similarity bincount take "
    "amax amin median prod t nan_to_num clone is_nonzero swapaxes movedim unfold conj real imag allclose".split()
)
"""Functions of torch whose first argument is a tensor: not what makes one, nor what takes a list of them."""
ARRAY_METHODS = frozenset(
    "sum mean max min any all abs norm std var argmax argmin item float long int bool half eq ne gt lt ge le clamp "
    "clip shape ndim T transpose reshape flatten squeeze numpy exp log sqrt pow sort cumsum tolist nonzero prod "
    "softmax".split()
)
"""Methods that tensors and arrays have, and other things have not."""
SEQUENCE_METHODS = frozenset(["unbind", "split", "chunk", "tensor_split", "unsafe_chunk", "unsafe_split"])
PAIR_METHODS = frozenset(["max", "min", "sort", "topk", "median", "mode", "kthvalue", "cummax", "cummin"])
"""Return (values, indices) when given a dimension; both are tensors on the same device."""
PAIR_NAMES = {"values": 0, "indices": 1}
"""What the halves of such a pair are called."""

MODULE_SELF_METHODS = frozenset(
    "to cuda cpu train eval half float double bfloat16 requires_grad_ apply type to_empty share_memory compile".split()
)
MODULE_PARAMETERS = frozenset(["parameters", "buffers"])
MODULE_NAMED = frozenset(["named_parameters", "named_buffers"])
MODULE_USES = frozenset(
    "train eval parameters named_parameters zero_grad state_dict load_state_dict named_modules modules forward".split()
)
"""Attributes that show a name to be a module when nothing else does."""

ARRAY_MODULES = tuple(
    "numpy pandas scipy sklearn cv2 PIL xarray cupy jax tensorflow pyarrow polars skimage matplotlib datasets "
    "evaluate seaborn librosa soundfile nibabel SimpleITK h5py gym gymnasium mlx paddle mindspore onnxruntime "
    "shapely zarr imageio networkx tokenizers sentencepiece spacy nltk gensim lmdb".split()
)
PLAIN_BUILTINS = frozenset(
    "len int float bool str repr format hash id ord chr isinstance issubclass hasattr callable print type "
    "input open bytes any all complex divmod dir vars hex bin oct range".split()
)
PASSING_BUILTINS = frozenset(["list", "tuple", "sorted", "reversed", "iter", "set", "frozenset", "next"])
PLAIN_MODULES = tuple(
    "math os sys time random re json logging pathlib datetime copyreg string shutil subprocess glob argparse "
    "platform socket struct hashlib uuid psutil operator statistics fractions decimal warnings inspect "
    "yaml wandb".split()
)

VARIABLE = "Variable"
"""What gives a tensor back, for ten years now."""
VARIABLES = frozenset({"torch.autograd.Variable", "torch.autograd.variable.Variable"})
"""Its canonical names."""
VIEWS = frozenset(
    "view view_as reshape flatten unflatten ravel squeeze unsqueeze expand expand_as permute transpose t swapaxes "
    "movedim narrow select unfold diagonal detach unbind chunk split contiguous".split()
)
"""Methods that give a tensor back, or a view of it, which shares its memory; some copy where they have to."""
VIEWED_AS = frozenset({"data", "T", "mT"})
"""Attributes that do so."""
OF_MATH = frozenset(
    "exp exp2 expm1 log log1p log2 log10 sqrt sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh erf erfc "
    "lgamma floor ceil trunc isnan isinf isfinite".split()
)
"""Functions of one number in `math` that torch has under the same name."""
OF_MATH_WITH_TWO = frozenset({"pow", "fmod", "copysign"})
"""Functions of two numbers in `math` that torch has under the same name, for a tensor and a number or a tensor."""
NUMBER_FIRST = frozenset({"pow"})
"""Of those, the ones whose first may be a number as well."""


def is_torchs_own(dotted: str | None) -> bool:
    """Whether a canonical name is of something in torch, `torch.where`, and not of what a call of that gives."""
    return dotted is not None and dotted.startswith("torch.") and "()" not in dotted


OBJECT_COLLECTIVES = {"all_gather_object": 0, "broadcast_object_list": 0, "gather_object": 1, "scatter_object_list": 0}
"""Collectives of Python objects -> the place of the list that they put the objects of all processes into."""
