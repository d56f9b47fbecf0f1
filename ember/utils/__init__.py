"""Tools around training: data loading, hooks, plots. Loaded when they are used."""

_SUBMODULES = (
    "_pytree",
    "benchmark",
    "callbacks",
    "checkpoint",
    "data",
    "dlpack",
    "hooks",
    "plot",
    "safetensors",
    "tensorboard",
    "trainer",
    "viz",
)


def __getattr__(name: str):
    if name in _SUBMODULES:
        from importlib import import_module

        return import_module(f"ember.utils.{name}")
    raise AttributeError(f"module 'ember.utils' has no attribute '{name}'")
