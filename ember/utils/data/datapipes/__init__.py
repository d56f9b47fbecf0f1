"""DataPipes: datasets that are built by chaining, `pipe.map(f).filter(g).batch(8)`.

PyTorch no longer develops them; here are the base classes, the decorators, and the
steps that need no other library, as methods and under their class names in `iter` and
`map`.
"""

from ember.utils.data.datapipes import iter as iter, map as map
from ember.utils.data.datapipes.datapipe import (
    DataChunk as DataChunk,
    DFIterDataPipe as DFIterDataPipe,
    IterDataPipe as IterDataPipe,
    MapDataPipe as MapDataPipe,
    argument_validation as argument_validation,
    functional_datapipe as functional_datapipe,
    guaranteed_datapipes_determinism as guaranteed_datapipes_determinism,
    non_deterministic as non_deterministic,
    runtime_validation as runtime_validation,
    runtime_validation_disabled as runtime_validation_disabled,
)
