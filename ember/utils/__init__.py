"""Tools around training: data loading, hooks, plots. Loaded when they are used."""

from typing import TYPE_CHECKING

from ember import _lazy

if TYPE_CHECKING:
    from ember.utils import (
        benchmark as benchmark,
        callbacks as callbacks,
        checkpoint as checkpoint,
        collect_env as collect_env,
        cpp_extension as cpp_extension,
        data as data,
        deterministic as deterministic,
        dlpack as dlpack,
        flop_counter as flop_counter,
        hooks as hooks,
        model_zoo as model_zoo,
        safetensors as safetensors,
        summary as summary,
        tensorboard as tensorboard,
        trainer as trainer,
        viz as viz,
    )

if not TYPE_CHECKING:  # a checker reports what is not here
    __getattr__ = _lazy.missing(__name__)
