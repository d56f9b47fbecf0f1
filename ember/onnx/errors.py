"""What can go wrong in an export."""

from ember.onnx import OnnxExporterError


class OnnxExporterWarning(UserWarning):
    """A doubt of the exporter."""


class SymbolicValueError(OnnxExporterError):
    """A value that cannot be exported."""


class UnsupportedOperatorError(OnnxExporterError):
    """An operator that cannot be exported."""
