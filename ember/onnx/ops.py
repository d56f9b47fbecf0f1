"""ONNX's own operators: none can be called here."""

from ember import _unavailable

_unavailable.fill(
    globals(),
    "onnx.ops",
    "ember does not write ONNX files yet",
    "attention rotary_embedding symbolic symbolic_multi_out",
)
