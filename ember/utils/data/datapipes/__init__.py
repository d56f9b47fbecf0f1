"""DataPipes: datasets that are built by chaining, `pipe.map(f).filter(g).batch(8)`.

PyTorch no longer develops them; here are the base classes, the decorators, and the
steps that need no other library, as methods and under their class names in `iter` and
`map`.
"""

from ember.utils.data.datapipes import iter, map
from ember.utils.data.datapipes.datapipe import (
    DataChunk,
    DFIterDataPipe,
    IterDataPipe,
    MapDataPipe,
    argument_validation,
    functional_datapipe,
    guaranteed_datapipes_determinism,
    non_deterministic,
    runtime_validation,
    runtime_validation_disabled,
)
