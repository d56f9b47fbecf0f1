"""Timing of small pieces of code, with the care that takes.

>>> from ember.utils.benchmark import Timer
>>> timer = Timer("x + x", "import ember; x = ember.ones(8)", label="add")
>>> measurement = timer.blocked_autorange(min_run_time=0.01)
>>> measurement.median > 0
True

`Compare` puts measurements side by side, `Fuzzer` makes inputs of many kinds, and
`Timer.collect_callgrind` counts instructions instead of seconds.
"""

from ember.utils.benchmark.callgrind import CopyIfCallgrind as CopyIfCallgrind
from ember.utils.benchmark.compare import (
    Colorize as Colorize,
    Compare as Compare,
    ordered_unique as ordered_unique,
)
from ember.utils.benchmark.function_counts import (
    CallgrindStats as CallgrindStats,
    FunctionCount as FunctionCount,
    FunctionCounts as FunctionCounts,
)
from ember.utils.benchmark.fuzzer import (
    FuzzedParameter as FuzzedParameter,
    FuzzedTensor as FuzzedTensor,
    Fuzzer as Fuzzer,
    ParameterAlias as ParameterAlias,
)
from ember.utils.benchmark.measurement import (
    Measurement as Measurement,
    TaskSpec as TaskSpec,
    select_unit as select_unit,
    trim_sigfig as trim_sigfig,
    unit_to_english as unit_to_english,
)
from ember.utils.benchmark.sparse_fuzzer import FuzzedSparseTensor as FuzzedSparseTensor
from ember.utils.benchmark.timer import (
    Language as Language,
    Timer as Timer,
    set_torch_threads as set_torch_threads,
    timer as timer,
)
