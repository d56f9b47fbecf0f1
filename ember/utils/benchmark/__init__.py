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
from ember.utils.benchmark.compare import Colorize as Colorize
from ember.utils.benchmark.compare import Compare as Compare
from ember.utils.benchmark.compare import ordered_unique as ordered_unique
from ember.utils.benchmark.function_counts import CallgrindStats as CallgrindStats
from ember.utils.benchmark.function_counts import FunctionCount as FunctionCount
from ember.utils.benchmark.function_counts import FunctionCounts as FunctionCounts
from ember.utils.benchmark.fuzzer import FuzzedParameter as FuzzedParameter
from ember.utils.benchmark.fuzzer import FuzzedTensor as FuzzedTensor
from ember.utils.benchmark.fuzzer import Fuzzer as Fuzzer
from ember.utils.benchmark.fuzzer import ParameterAlias as ParameterAlias
from ember.utils.benchmark.measurement import Measurement as Measurement
from ember.utils.benchmark.measurement import TaskSpec as TaskSpec
from ember.utils.benchmark.measurement import select_unit as select_unit
from ember.utils.benchmark.measurement import trim_sigfig as trim_sigfig
from ember.utils.benchmark.measurement import unit_to_english as unit_to_english
from ember.utils.benchmark.sparse_fuzzer import FuzzedSparseTensor as FuzzedSparseTensor
from ember.utils.benchmark.timer import Language as Language
from ember.utils.benchmark.timer import Timer as Timer
from ember.utils.benchmark.timer import set_torch_threads as set_torch_threads
from ember.utils.benchmark.timer import timer as timer
