"""`import torch` where ember stands in for PyTorch: see `python -m ember.as_torch`."""

try:
    from ember.as_torch import install
except ModuleNotFoundError as error:
    if error.name != "ember":
        raise
    raise ImportError(
        "this `torch` only leads to ember, which is not installed here; "
        "`pip uninstall torch` removes it"
    ) from None

install()  # puts ember in the place of this module
