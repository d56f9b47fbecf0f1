"""Pruning: a parameter becomes its original times a mask of zeros and ones, applied
before each forward. `name_orig` is trained, `name_mask` is a buffer.
"""

from ember.nn.utils.prune._amount import (
    _compute_nparams_toprune,
    _validate_pruning_amount,
    _validate_pruning_amount_init,
    _validate_structured_pruning,
)
from ember.nn.utils.prune._base import (
    BasePruningMethod as BasePruningMethod,
    PruningContainer as PruningContainer,
)
from ember.nn.utils.prune._functions import (
    custom_from_mask as custom_from_mask,
    global_unstructured as global_unstructured,
    identity as identity,
    is_pruned as is_pruned,
    l1_unstructured as l1_unstructured,
    ln_structured as ln_structured,
    random_structured as random_structured,
    random_unstructured as random_unstructured,
    remove as remove,
)
from ember.nn.utils.prune._methods import (
    CustomFromMask as CustomFromMask,
    Identity as Identity,
    L1Unstructured as L1Unstructured,
    LnStructured as LnStructured,
    RandomStructured as RandomStructured,
    RandomUnstructured as RandomUnstructured,
)

# A pruned module is saved with its method, which is found again by the name of this
# module: PyTorch's.
for _value in list(globals().values()):
    if getattr(_value, "__module__", "").startswith(__name__ + "."):
        _value.__module__ = __name__
del _value
