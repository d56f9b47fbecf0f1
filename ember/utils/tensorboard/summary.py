"""What an event says, as bytes of TensorBoard's messages: `FileWriter.add_summary`
writes it. lightning and stable-baselines3 write their hyperparameters this way.
"""

from __future__ import annotations

import io
import wave
from typing import Any

import ember
from ember.utils.tensorboard.record import block, double, integer, single

_FLOAT, _STRING = 1, 7  # kinds of tensors
_TEXT, _NUMBER = 1, 3  # kinds of hyperparameters
_SUCCESS = 1
_LEAST = 1e-7  # of a denominator of a precision or recall


class Summary:
    """Values of one event, each with its tag."""

    def __init__(self, *values: bytes) -> None:
        self._values = values

    def SerializeToString(self) -> bytes:
        """The message."""
        return b"".join(block(1, value) for value in self._values)


def value(tag: str, content: bytes) -> Summary:
    """One value; `content` are the fields of a `Summary.Value` but for its tag."""
    return Summary(block(1, tag) + content)


def plugin(name: str, content: bytes = b"") -> bytes:
    """Metadata that tells TensorBoard which of its tabs shows a value."""
    data = block(1, name) + (block(2, content) if content else b"")
    return block(9, block(1, data))


def _shape(sizes: tuple[int, ...]) -> bytes:
    return block(2, b"".join(block(2, integer(1, size)) for size in sizes))


def scalar(name: str, tensor: Any, *args: Any, **kwargs: Any) -> Summary:
    """A point of a curve."""
    return value(name, single(2, float(tensor)))


def text(tag: str, text: str) -> Summary:
    """A text, in Markdown."""
    tensor = integer(1, _STRING) + _shape((1,)) + block(8, text)
    return value(f"{tag}/text_summary", plugin("text") + block(8, tensor))


def audio(tag: str, tensor: Any, sample_rate: int = 44100) -> Summary:
    """A sound: values in -1..1 at this many a second; what is outside is cut off."""
    sound = ember.as_tensor(tensor, device="cpu").detach().squeeze()
    if sound.dim() != 1:
        raise ValueError(
            f"add_audio(): a sound has one dimension, got shape {tuple(sound.shape)}"
        )
    samples = (sound.double().clamp(-1, 1) * 32767).to(ember.int16)
    file = io.BytesIO()
    with wave.open(file, "wb") as writer:
        writer.setnchannels(1)
        writer.setsampwidth(2)
        writer.setframerate(sample_rate)
        writer.writeframes(samples.numpy().astype("<i2").tobytes())
    fields = (
        single(1, sample_rate)
        + integer(2, 1)
        + integer(3, len(samples))
        + block(4, file.getvalue())
        + block(5, "audio/wav")
    )
    return value(tag, block(6, fields))


def pr_curve(
    tag: str,
    labels: Any,
    predictions: Any,
    num_thresholds: int = 127,
    weights: Any = None,
) -> Summary:
    """Precision and recall of predictions in 0..1 by the threshold that is chosen."""
    count = min(num_thresholds, 127)
    truth = ember.as_tensor(labels, device="cpu").detach().double().flatten()
    guess = ember.as_tensor(predictions, device="cpu").detach().flatten()
    weight = ember.ones_like(truth)
    if weights is not None:
        weight = weight * ember.as_tensor(weights, device="cpu").double().flatten()
    bucket = (guess * (count - 1)).floor().long().clamp(0, count - 1)
    positive = ember.bincount(bucket, truth * weight, count)
    negative = ember.bincount(bucket, (1 - truth) * weight, count)
    tp, fp = positive.flip(0).cumsum(0).flip(0), negative.flip(0).cumsum(0).flip(0)
    tn, fn = fp[0] - fp, tp[0] - tp
    precision = tp / (tp + fp).clamp(min=_LEAST)
    recall = tp / (tp + fn).clamp(min=_LEAST)
    rows = ember.stack([tp, fp, tn, fn, precision, recall])
    data = rows.float().numpy().astype("<f4").tobytes()
    tensor = integer(1, _FLOAT) + _shape(tuple(rows.shape)) + block(5, data)
    return value(tag, plugin("pr_curves", integer(2, count)) + block(8, tensor))


def _flag(kind: int, content: bytes) -> bytes:
    """What the hyperparameters' tab reads."""
    return plugin("hparams", block(kind, content))


def _parameter(name: str, given: Any) -> tuple[int, bytes]:
    """The kind and the message of a hyperparameter."""
    if isinstance(given, ember.Tensor):
        given = given.flatten()[0].item()
    if isinstance(given, int | float):
        return _NUMBER, double(2, float(given))
    if isinstance(given, str):
        return _TEXT, block(3, given)
    raise ValueError(
        "value should be one of int, float, str, bool, or torch.Tensor; "
        f"{name!r} is a {type(given).__name__}"
    )


def hparams(
    hparam_dict: dict[str, Any],
    metric_dict: dict[str, Any],
    hparam_domain_discrete: dict[str, list] | None = None,
) -> tuple[Summary, Summary, Summary]:
    """Which parameters and metrics there are, their values, and that a run ended."""
    domains = {} if hparam_domain_discrete is None else hparam_domain_discrete
    for what, given in (
        ("hparam_dict", hparam_dict),
        ("metric_dict", metric_dict),
        ("hparam_domain_discrete", domains),
    ):
        if not isinstance(given, dict):
            raise TypeError(
                f"parameter: {what} should be a dictionary, nothing logged; got "
                f"{type(given).__name__}"
            )
    for key, values in domains.items():
        kind = type(hparam_dict.get(key))
        if not isinstance(values, list) or not all(isinstance(v, kind) for v in values):
            raise TypeError(
                f"parameter: hparam_domain_discrete[{key}] should be a list of same "
                f"type as hparam_dict[{key}]: {kind.__name__}"
            )
    infos, start = b"", b""
    for key, given in hparam_dict.items():
        if given is None:
            continue
        kind_number, content = _parameter(key, given)
        allowed = b"".join(
            block(1, _parameter(key, v)[1]) for v in domains.get(key, [])
        )
        info = block(1, key) + integer(4, kind_number)
        infos += block(4, info + (block(5, allowed) if key in domains else b""))
        start += block(1, block(1, key) + block(2, content))
    infos += b"".join(block(5, block(1, block(2, name))) for name in metric_dict)
    return (
        value("_hparams_/experiment", _flag(2, infos)),
        value("_hparams_/session_start_info", _flag(3, start)),
        value("_hparams_/session_end_info", _flag(4, integer(1, _SUCCESS))),
    )
