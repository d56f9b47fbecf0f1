"""Mixed precision: matrix products in bfloat16 or float16, the rest as it is.

`autocast` chooses the dtype of each op, `GradScaler` keeps small gradients of float16
from vanishing.
"""

from ember.amp.autocast_mode import (
    autocast,
    custom_bwd,
    custom_fwd,
    is_autocast_available,
)
from ember.amp.grad_scaler import GradScaler

__all__ = [
    "GradScaler",
    "autocast",
    "custom_bwd",
    "custom_fwd",
    "is_autocast_available",
]
