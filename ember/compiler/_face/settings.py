"""What `ember.compile` is told, checked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ember.compiler._face import backends

MODES: dict[str, dict[str, Any]] = {  # mode -> options
    "default": {},
    "lite": {},
    "reduce-overhead": {"triton.cudagraphs": True},
    "max-autotune-no-cudagraphs": {"max_autotune": True},
    "max-autotune": {"max_autotune": True, "triton.cudagraphs": True},
}
# Options and the types of their values. `max_autotune` waits for machine code instead
# of running op by op meanwhile; the others choose between ways of GPU compilers, and
# are accepted, so that programs which set them run.
OPTIONS: dict[str, type | tuple[type, ...]] = {
    "max_autotune": bool,
    "max_autotune_gemm": bool,
    "max_autotune_pointwise": bool,
    "coordinate_descent_tuning": bool,
    "epilogue_fusion": bool,
    "aggressive_fusion": bool,
    "fallback_random": bool,
    "shape_padding": bool,
    "permute_fusion": bool,
    "freezing": bool,
    "cpp_wrapper": bool,
    "force_fuse_int_mm_with_mul": bool,
    "use_mixed_mm": bool,
    "fx_graph_cache": bool,
    "fx_graph_remote_cache": bool,
    "triton.cudagraphs": bool,
    "triton.cudagraph_trees": bool,
    "triton.unique_kernel_names": bool,
    "trace.enabled": bool,
    "trace.graph_diagram": bool,
    "debug": bool,
    "emulate_precision_casts": bool,
    "guard_filter_fn": Callable,  # type: ignore[dict-item]
}


def list_mode_options(mode: str | None = None, dynamic: bool | None = None) -> Any:
    """The options that a mode stands for; without one, of each mode."""
    if mode is not None and mode not in MODES:
        raise RuntimeError(f"Unrecognized mode={mode}, should be one of: {list(MODES)}")
    return dict(MODES if mode is None else MODES[mode])


def list_options() -> list[str]:
    """The names that `options` may have."""
    return list(OPTIONS)


class Settings(NamedTuple):
    """Of one call of `compile`. `wait`: for machine code."""

    backend: Any = "inductor"
    fullgraph: bool = False
    dynamic: bool | None = None
    wait: bool = False
    limit: int | None = None  # graphs of one function
    disabled: bool = False
    replay: bool = False  # calls, without Python


def settings(
    fullgraph: bool,
    dynamic: bool | None,
    backend: Any,
    mode: str | None,
    options: dict[str, Any] | None,
    recompile_limit: int | None,
) -> Settings:
    """The arguments of `compile`, or the error that PyTorch raises for them."""
    if mode is not None and options is not None:
        raise RuntimeError(
            "Either mode or options can be specified, but both can't be specified at "
            "the same time."
        )
    if dynamic is not None and not isinstance(dynamic, bool):
        raise AssertionError(
            f"compile(): dynamic is True, False or None, not {dynamic!r}"
        )
    if recompile_limit is not None and (
        not isinstance(recompile_limit, int) or recompile_limit < 1
    ):
        raise ValueError(
            f"compile(): recompile_limit is an int above 0, not {recompile_limit!r}"
        )
    if backend is None:
        backend = backends.get_default()
    found = backends.lookup(backend)
    chosen: dict[str, Any] = {}
    if backend == "inductor":
        chosen = _options_of(mode, options)
    wait = bool(fullgraph) or bool(chosen.get("max_autotune"))
    # "max-autotune" has this option, too, but does not promise what replays need.
    replay = mode == "reduce-overhead" or bool((options or {}).get("triton.cudagraphs"))
    replay = replay and backend == "inductor"
    return Settings(
        found, bool(fullgraph), dynamic, wait, recompile_limit, replay=replay
    )


def _options_of(mode: str | None, options: dict[str, Any] | None) -> dict[str, Any]:
    if mode is not None and mode not in MODES:
        raise RuntimeError(
            f"Unrecognized mode={mode}, should be one of: {', '.join(MODES)}"
        )
    for name, value in (options or {}).items():
        key = name.replace("-", "_")
        if key not in OPTIONS:
            raise RuntimeError(
                f"Unexpected optimization option {name}, known options are "
                f"{list(OPTIONS)}"
            )
        if not isinstance(value, OPTIONS[key]):
            wanted = getattr(OPTIONS[key], "__name__", str(OPTIONS[key]))
            raise RuntimeError(
                f"Unexpected type of attr {name}, got {type(value).__name__} should be "
                f"{wanted}"
            )
    given = {name.replace("-", "_"): value for name, value in (options or {}).items()}
    return MODES[mode or "default"] | given
