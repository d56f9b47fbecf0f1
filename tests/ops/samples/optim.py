"""core/ops/optim.cpp. Their effect is tested by tests/optim/test_fused.py."""

from ..entry import S, T, op

# They return whether the tensors could be changed at once, which strides decide.
SKIP = "noncontiguous meta"
RATES = {"lr": 0.1, "weight_decay": 0.0, "maximize": False}
LISTS = [T(3), T(2, 2)], [T(3), T(2, 2)]
STATE = [T(3, low=0.0), T(2, 2, low=0.0)]
COUNTS = [T(low=0.0, dtype="float32"), T(low=0.0, dtype="float32")]

op(
    "_fused_sgd_",
    S(
        *LISTS,
        STATE,
        momentum=0.9,
        dampening=0.0,
        nesterov=False,
        is_first_step=False,
        **RATES,
    ),
    grad=False,
    skip=SKIP,
    errors=[
        (
            S(
                *LISTS,
                [],
                momentum=0.9,
                dampening=0.0,
                nesterov=False,
                is_first_step=False,
                **RATES,
            ),
            RuntimeError,
            "momentum buffers",
        )
    ],
)
op(
    "_fused_adam_",
    S(
        *LISTS,
        STATE,
        STATE,
        [],
        COUNTS,
        beta1=0.9,
        beta2=0.99,
        eps=1e-8,
        amsgrad=False,
        **RATES,
    ),
    grad=False,
    skip=SKIP,
    errors=[
        (
            S(
                *LISTS,
                STATE,
                [],
                [],
                COUNTS,
                beta1=0.9,
                beta2=0.99,
                eps=1e-8,
                amsgrad=False,
                **RATES,
            ),
            RuntimeError,
            "list of state",
        )
    ],
)
op(
    "_fused_rmsprop_",
    S(
        *LISTS,
        STATE,
        [],
        [],
        COUNTS,
        alpha=0.9,
        eps=1e-8,
        momentum=0.0,
        centered=False,
        **RATES,
    ),
    grad=False,
    skip=SKIP,
    errors=[
        (
            S(
                *LISTS,
                STATE,
                [],
                [],
                COUNTS,
                alpha=0.9,
                eps=1e-8,
                momentum=0.5,
                centered=False,
                **RATES,
            ),
            RuntimeError,
            "list of state",
        )
    ],
)
op(
    "_fused_adagrad_",
    S(*LISTS, STATE, COUNTS, lr_decay=0.0, eps=1e-8, **RATES),
    grad=False,
    skip=SKIP,
    errors=[
        (S(*LISTS, [], COUNTS, lr_decay=0.0, eps=1e-8, **RATES), RuntimeError, "sums")
    ],
)
op(
    "_foreach_fused",
    S("sqrt", [T(3, low=0.1), T(2, 2, low=0.1)], [], [], [], False),
    S("mul", *LISTS, [], [], False),
    S("add", [T(3), T(2, 2)], [], [], [2.0], False),
    grad=False,
    skip=SKIP,
    errors=[
        (S("no_such", [T(3)], [], [], [], False), ValueError, "no row"),
        (S("sqrt", [], [], [], [], False), RuntimeError, "at least one tensor"),
    ],
)
