"""Pruning: a parameter becomes its original times a mask of zeros and ones, applied
before each forward. `name_orig` is trained, `name_mask` is a buffer.
"""

from ember.nn.utils.prune._amount import (
    _compute_nparams_toprune,
    _validate_pruning_amount,
    _validate_pruning_amount_init,
    _validate_structured_pruning,
)
from ember.nn.utils.prune._base import BasePruningMethod, PruningContainer
from ember.nn.utils.prune._functions import (
    custom_from_mask,
    global_unstructured,
    identity,
    is_pruned,
    l1_unstructured,
    ln_structured,
    random_structured,
    random_unstructured,
    remove,
)
from ember.nn.utils.prune._methods import (
    CustomFromMask,
    Identity,
    L1Unstructured,
    LnStructured,
    RandomStructured,
    RandomUnstructured,
)

# A pruned module is saved with its method, which is found again by the name of this
# module: PyTorch's.
for _value in list(globals().values()):
    if getattr(_value, "__module__", "").startswith(__name__ + "."):
        _value.__module__ = __name__
del _value
