"""torchaudio's operators, which its extension for libtorch would bring: recursive
filters, the distortion `overdrive`, alignment to labels and the transducer's loss,
written in ops.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import ember
from ember import Tensor
from ember.library import _custom_op

_BLOCK = 256  # samples of a filter's output that are computed at once
_NOWHERE = -1e30  # logarithm of no path; infinities would have NaN as gradients


def _recursion(x: Tensor, a: Tensor, before: Tensor) -> Tensor:
    """y[t] = x[t] - sum over k of a[k] y[t - 1 - k], for x of shape (B, C, T).

    `a` (C, K) starts with the weight of the newest output; `before` (B, C, K) are the
    outputs before the first, the oldest first. A block of outputs is linear in its
    inputs and in the K outputs before it: only the ends of blocks are computed one
    after the other.
    """
    batch, channels, time = x.shape
    order = a.shape[1]
    size = max(min(_BLOCK, time), order)
    blocks = -(-time // size)
    # What an impulse, and each of the outputs before a block, leave in the block.
    answer = ember.zeros(channels, size + order, order + 1, dtype=x.dtype)
    answer[:, :order, 1:] = ember.eye(order, dtype=x.dtype)
    newest_last = a.flip(1)[:, None]
    for t in range(size):
        answer[:, order + t] = -(newest_last @ answer[:, t : order + t])[:, 0]
        if t == 0:
            answer[:, order, 0] = 1
    impulse, states = answer[:, order:, 0], answer[:, order:, 1:]
    steps = ember.arange(size)
    delay = steps[:, None] - steps
    toeplitz = impulse[:, delay.clamp(min=0)] * (delay >= 0)
    padded = ember.nn.functional.pad(x, (0, blocks * size - time))
    pieces = padded.reshape(batch, channels, blocks, size)
    own = pieces @ toeplitz.transpose(1, 2)
    ends = [before]
    last = states[:, size - order :]
    for n in range(blocks - 1):
        ends.append(own[:, :, n, size - order :] + (last @ ends[-1][..., None])[..., 0])
    y = own + ember.stack(ends, 2) @ states.transpose(1, 2)
    return y.reshape(batch, channels, blocks * size)[..., :time]


def _lfilter_core_loop(
    input_signal_windows: Tensor, a_coeff_flipped: Tensor, padded_output: Tensor
) -> None:
    """Writes a filter's output behind the samples that it starts from."""
    order = a_coeff_flipped.shape[1] - 1
    x, a = input_signal_windows.double(), a_coeff_flipped.double()
    if x.numel() == 0:
        return
    if order == 0:
        padded_output.copy_(input_signal_windows)
        return
    before = padded_output[..., :order].double()
    padded_output[..., order:] = _recursion(x, a[:, :-1].flip(1), before)


def _overdrive_core_loop(
    waveform: Tensor, temp: Tensor, last_in: Tensor, last_out: Tensor, out: Tensor
) -> None:
    """Half of the wave, and three quarters of a distorted one without its offset."""
    if waveform.numel() == 0:
        return
    distorted = temp.double()
    earlier = ember.cat([last_in.double()[:, None], distorted[:, :-1]], 1)
    decay = ember.tensor([[-0.995]], dtype=ember.float64)
    change = (distorted - earlier)[:, None]
    y = _recursion(change, decay, last_out.double()[:, None, None])[:, 0]
    out.copy_(waveform * 0.5 + y * 0.75)
    last_in.copy_(temp[:, -1])
    last_out.copy_(y[:, -1])


def forced_align(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Tensor,
    target_lengths: Tensor,
    blank: int,
) -> tuple[Tensor, Tensor]:
    """The likeliest path (1, T) of labels and blanks that spells the targets."""
    _check_alignment(log_probs, targets, input_lengths, target_lengths, blank)
    labels = targets[0].tolist()
    time, count = log_probs.shape[1], len(labels)
    repeats = sum(a == b for a, b in pairwise(labels))
    if time < count + repeats:
        raise RuntimeError(
            f"targets length is too long for CTC. Found log_probs length: {time}, "
            f"targets length: {count}, and number of repeats: {repeats}"
        )
    states = [blank, *(s for label in labels for s in (label, blank))]
    skips = [
        s % 2 == 1 and s > 1 and states[s] != states[s - 2] for s in range(len(states))
    ]
    score = log_probs.detach()[0][:, ember.tensor(states)].double()
    may_skip = ember.tensor(skips)
    none = ember.full((2,), -ember.inf, dtype=ember.float64)
    best = ember.where(ember.arange(len(states)) < 2, score[0], -ember.inf)
    moves = []
    for t in range(1, time):
        reach = ember.cat([none, best])
        skip = ember.where(may_skip, reach[:-2], -ember.inf)
        # Of equals, the one that stays, as in torchaudio.
        choice = ember.stack([reach[2:], reach[1:-1], skip]).max(0)
        moves.append(choice.indices.tolist())
        best = choice.values + score[t]
    at = len(states) - 1
    if at and not best[at] > best[at - 1]:
        at -= 1
    path = [at]
    for move in reversed(moves):
        path.append(path[-1] - move[path[-1]])
    spelled = [states[s] for s in reversed(path)]
    return ember.tensor([spelled], dtype=targets.dtype), log_probs


def _check_alignment(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Tensor,
    target_lengths: Tensor,
    blank: int,
) -> None:
    if log_probs.dim() != 3:
        raise RuntimeError(f"log_probs must be 3-D, got {log_probs.dim()}-D")
    if targets.dim() != 2:
        raise RuntimeError(f"targets must be 2-D, got {targets.dim()}-D")
    if len(log_probs) != 1 or len(targets) != 1:
        raise RuntimeError(
            "forced_align(): the batch size must be 1, got "
            f"{len(log_probs)} of log_probs and {len(targets)} of targets"
        )
    if not 0 <= blank < log_probs.shape[2]:
        raise RuntimeError(
            f"blank must be within [0, {log_probs.shape[2]}), got {blank}"
        )
    for what, lengths, extent in (
        ("input", input_lengths, log_probs.shape[1]),
        ("target", target_lengths, targets.shape[1]),
    ):
        if lengths.tolist() != [extent]:
            raise RuntimeError(
                f"{what} length mismatch: {lengths.tolist()}, the tensor has {extent}"
            )


def rnnt_loss_forward(
    logits: Tensor,
    targets: Tensor,
    logit_lengths: Tensor,
    target_lengths: Tensor,
    blank: int,
    clamp: float,
    fused_log_softmax: bool = True,
) -> tuple[Tensor, Tensor]:
    """Costs (B,) of Graves' transducer, and their gradients for `logits`, clamped."""
    _check_transducer(logits, targets, logit_lengths, target_lengths, blank)
    with ember.enable_grad():
        x = logits.detach().double().requires_grad_()
        scores = x.log_softmax(-1) if fused_log_softmax else x
        costs = -_likelihood(scores, targets, logit_lengths, target_lengths, blank)
        (gradient,) = ember.autograd.grad(costs.sum(), x)
    if clamp > 0:
        gradient = gradient.clamp(-clamp, clamp)
    return costs.detach().to(logits.dtype), gradient.to(logits.dtype)


def _likelihood(
    scores: Tensor,
    targets: Tensor,
    logit_lengths: Tensor,
    target_lengths: Tensor,
    blank: int,
) -> Tensor:
    """Logarithm of the summed likelihood of all paths, for scores (B, T, U + 1, C).

    Cells (t, u) with the same t + u follow from those before them, all at once.
    """
    batch, time, width, _ = scores.shape
    labels = ember.nn.functional.pad(targets.long(), (0, 1))
    emit = scores.gather(3, labels[:, None, :, None].expand(-1, time, -1, 1))[..., 0]
    wait = scores[..., blank]
    u = ember.arange(width)
    outside = ember.full((batch, 1), _NOWHERE, dtype=scores.dtype)
    alpha = ember.where(u == 0, 0.0, outside)
    rows = [alpha]
    for step in range(1, time + width - 1):
        t = step - u  # of each cell of this diagonal
        waited = wait[:, (t - 1).clamp(0, time - 1), u]
        emitted = emit[:, t[1:].clamp(0, time - 1), u[:-1]]
        stayed = ember.where((t >= 1) & (t < time), alpha + waited, _NOWHERE)
        moved = ember.where((t >= 0)[1:], alpha[:, :-1] + emitted, _NOWHERE)
        alpha = ember.logaddexp(stayed, ember.cat([outside, moved], 1))
        rows.append(alpha)
    b = ember.arange(batch)
    last, end = logit_lengths.long() - 1, target_lengths.long()
    return ember.stack(rows, 1)[b, last + end, end] + wait[b, last, end]


def _check_transducer(
    logits: Tensor,
    targets: Tensor,
    logit_lengths: Tensor,
    target_lengths: Tensor,
    blank: int,
) -> None:
    if logits.dtype not in (ember.float32, ember.float16):
        raise RuntimeError(
            f"logits must be float32 or float16 (half), got {logits.dtype}"
        )
    for what, lengths in (
        ("targets", targets),
        ("logit_lengths", logit_lengths),
        ("target_lengths", target_lengths),
    ):
        if lengths.dtype != ember.int32:
            raise RuntimeError(f"{what} must be int32, got {lengths.dtype}")
    if logits.dim() != 4 or targets.dim() != 2:
        raise RuntimeError(
            "logits must be 4-D (batch, time, target, class) and targets 2-D, got "
            f"{logits.dim()}-D and {targets.dim()}-D"
        )
    batch, time, width, classes = logits.shape
    if {batch} != {len(targets), len(logit_lengths), len(target_lengths)}:
        raise RuntimeError(
            f"batch dimension mismatch: {batch} of logits, {len(targets)} of targets, "
            f"{len(logit_lengths)} of logit_lengths and {len(target_lengths)} of "
            "target_lengths"
        )
    if not 0 <= blank < classes:
        raise RuntimeError(f"blank must be within [0, {classes}), got {blank}")
    if time != logit_lengths.max():
        raise RuntimeError(
            f"input length mismatch: {time}, the longest of logit_lengths is "
            f"{logit_lengths.max().item()}"
        )
    if not width == targets.shape[1] + 1 == target_lengths.max() + 1:
        raise RuntimeError(
            f"output length mismatch: {width} of logits must be one more than "
            f"{targets.shape[1]} of targets, and that the longest of target_lengths, "
            f"{target_lengths.max().item()}"
        )


def _cuda_version() -> None:
    """There is no CUDA."""


_LENGTHS = "Tensor input_lengths, Tensor target_lengths, int blank"
_TABLE: list[tuple[str, str, Callable[..., Any]]] = [
    (
        "torchaudio::_lfilter_core_loop",
        "(Tensor input_signal_windows, Tensor a_coeff_flipped, "
        "Tensor(a!) padded_output_waveform) -> ()",
        _lfilter_core_loop,
    ),
    (
        "torchaudio::_overdrive_core_loop",
        "(Tensor waveform, Tensor temp, Tensor(a!) last_in, Tensor(b!) last_out, "
        "Tensor(c!) output_waveform) -> ()",
        _overdrive_core_loop,
    ),
    (
        "torchaudio::forced_align",
        f"(Tensor log_probs, Tensor targets, {_LENGTHS}) -> (Tensor, Tensor)",
        forced_align,
    ),
    (
        "torchaudio::rnnt_loss_forward",
        "(Tensor logits, Tensor targets, Tensor logit_lengths, Tensor target_lengths, "
        "int blank, float clamp, bool fused_log_softmax=True) -> (Tensor, Tensor)",
        rnnt_loss_forward,
    ),
    ("_torchaudio::cuda_version", "() -> int?", _cuda_version),
    ("_torchaudio::is_align_available", "() -> bool", lambda: True),
]


def register() -> None:
    """Enter the operators as `ember.ops.torchaudio` and `ember.ops._torchaudio`."""
    for name, schema, function in _TABLE:
        op = _custom_op.CustomOpDef(name, schema)
        if function is forced_align:  # which gives an input back
            op._composite = function
        else:
            op.register_kernel(None, function)
        _custom_op.register(op, replace=True)
