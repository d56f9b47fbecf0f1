"""Bilinear maps, one-hot vectors and distances."""

import ember
from ember import Tensor
from ember.overrides import handle_torch_function, has_torch_function_unary


def bilinear(
    input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None
) -> Tensor:
    """x1' W_k x2 + b_k for every output k; weight is [out, in1, in2].

    Args:
        input1: [..., in1]
        input2: [..., in2]
        weight: [out, in1, in2]
        bias: [out]

    >>> x, y = ember.ones(4, 2), ember.ones(4, 3)
    >>> F.bilinear(x, y, ember.ones(5, 2, 3)).shape
    torch.Size([4, 5])
    """
    if input1.shape[:-1] != input2.shape[:-1]:
        raise RuntimeError(
            f"bilinear(): batch dimensions of {tuple(input1.shape)} and "
            f"{tuple(input2.shape)} differ"
        )
    parts = {"input1": input1, "input2": input2, "weight": weight, "bias": bias}
    dtypes = {name: t.dtype for name, t in parts.items() if t is not None}
    if len(set(dtypes.values())) > 1 and not ember.is_autocast_enabled(
        input1.device.type
    ):
        text = ", ".join(f"{name}: {dtype}" for name, dtype in dtypes.items())
        raise RuntimeError(f"All tensors must have the same dtype, got {text}")
    batch = input1.shape[:-1]
    out, in1, in2 = weight.shape
    for name, t, n in (("input1", input1, in1), ("input2", input2, in2)):
        if t.shape[-1] != n:
            raise RuntimeError(
                f"bilinear(): {name} size does not match weight size: got "
                f"{t.shape[-1]} but expected {n}"
            )
    rows1, rows2 = input1.reshape(-1, in1), input2.reshape(-1, in2)
    left = rows1 @ weight.permute(1, 0, 2).reshape(in1, out * in2)
    products = left.view(-1, out, in2) * rows2.unsqueeze(1)
    result = products.sum(-1, dtype=left.dtype)
    if bias is not None:
        result = result + bias
    return result.reshape(*batch, out)


def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """Indices as rows with a single one.

    >>> import ember
    >>> ember.nn.functional.one_hot(ember.tensor([0, 2]))
    tensor([[1, 0, 0],
            [0, 0, 1]])
    """
    if has_torch_function_unary(tensor):
        return handle_torch_function(one_hot, (tensor,), tensor, num_classes)
    if tensor.dtype != ember.int64:
        raise RuntimeError(
            "one_hot is only applicable to index tensor of type LongTensor."
        )
    if tensor.numel() == 0:
        if num_classes <= 0:
            raise RuntimeError(
                "Can not infer total number of classes from empty tensor."
            )
        return ember.empty((*tensor.shape, num_classes), dtype=ember.int64)
    if int(tensor.min()) < 0:
        raise RuntimeError("Class values must be non-negative.")
    largest = int(tensor.max())
    if num_classes == -1:
        num_classes = largest + 1
    elif num_classes < 1:
        raise RuntimeError("num_classes should be positive")
    elif num_classes <= largest:
        raise RuntimeError("Class values must be smaller than num_classes.")
    zeros = tensor.new_zeros((*tensor.shape, num_classes))
    return zeros.scatter_(-1, tensor.unsqueeze(-1), 1)


def normalize(
    input: Tensor,
    p: float = 2.0,
    dim: int = 1,
    eps: float = 1e-12,
    out: Tensor | None = None,
) -> Tensor:
    """`input` divided by its norm along `dim`.

        input / max(norm, eps)

    Args:
        input: any shape
        p: exponent of the norm
        dim: the axis along which the vectors lie
        eps: the least norm

    >>> F.normalize(ember.tensor([[3.0, 4.0]]))
    tensor([[0.6000, 0.8000]])
    """
    norm = input.norm(p, dim, keepdim=True).clamp_min(eps).expand_as(input)
    return input / norm if out is None else ember.div(input, norm, out=out)


def pairwise_distance(
    x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False
) -> Tensor:
    """The p-norm of x1 - x2 + eps along the last axis.

    Args:
        x1: [N, D] or [D]
        x2: likewise
        p: exponent of the norm
        eps: added to the differences
        keepdim: keep the last axis, with size 1

    >>> F.pairwise_distance(ember.tensor([[3.0, 4.0]]), ember.zeros(1, 2))
    tensor([5.0000])
    """
    return (x1 - x2 + eps).norm(p, -1, keepdim)


def cosine_similarity(
    x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8
) -> Tensor:
    """The cosine of the angle between x1 and x2 along `dim`.

    Args:
        x1: any shape
        x2: a shape that broadcasts with it
        dim: the axis along which the vectors lie
        eps: the least length

    >>> F.cosine_similarity(ember.tensor([[1.0, 0.0]]), ember.tensor([[1.0, 1.0]]))
    tensor([0.7071])
    """
    if eps < 0:
        raise RuntimeError(f"eps must be non-negative, got: {eps:g}")
    x1, x2 = ember.broadcast_tensors(x1, x2)
    dtype = ember.promote_types(x1.dtype, x2.dtype)
    x1, x2 = x1.to(dtype), x2.to(dtype)
    norm1 = x1.norm(2, dim, keepdim=True).clamp_min(eps)
    norm2 = x2.norm(2, dim, keepdim=True).clamp_min(eps)
    return ((x1 / norm1) * (x2 / norm2)).sum(dim)
