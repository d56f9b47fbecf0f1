"""Anomaly detection: errors in backward name the forward call that caused them."""

import warnings
from typing import Any

from ember import _C


class detect_anomaly:
    """Inside, backward reports NaN gradients and shows the forward traceback.

    >>> import ember, warnings
    >>> warnings.simplefilter("ignore")
    >>> with ember.autograd.detect_anomaly():
    ...     ember.ones(2, requires_grad=True).sum().backward()
    """

    def __init__(self, check_nan: bool = True) -> None:
        self.prev = _C.is_anomaly_enabled()
        self.check_nan = check_nan
        self.prev_check_nan = _C.is_anomaly_check_nan_enabled()
        warnings.warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime "
            "and should only be enabled for debugging.",
            stacklevel=2,
        )

    def __enter__(self) -> None:
        _C._set_anomaly_enabled(True, self.check_nan)

    def __exit__(self, *exc: Any) -> None:
        _C._set_anomaly_enabled(self.prev, self.prev_check_nan)


class set_detect_anomaly:
    """Sets anomaly detection on or off: at once as a function, or for a block.

    >>> import ember
    >>> with ember.autograd.set_detect_anomaly(True):
    ...     ember.ones(2, requires_grad=True).sum().backward()
    """

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self.prev = _C.is_anomaly_enabled()
        self.prev_check_nan = _C.is_anomaly_check_nan_enabled()
        _C._set_anomaly_enabled(mode, check_nan)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: Any) -> None:
        _C._set_anomaly_enabled(self.prev, self.prev_check_nan)


def set_anomaly_enabled(enabled: bool, check_nan: bool = True) -> None:
    """Switch anomaly detection on or off for the thread.

    >>> import ember
    >>> ember.set_anomaly_enabled(False)
    """
    _C._set_anomaly_enabled(enabled, check_nan)


__all__ = ["detect_anomaly", "set_anomaly_enabled", "set_detect_anomaly"]
