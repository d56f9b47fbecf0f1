"""core/ops/optim.cpp, one op for each row of core/optim_formulas.h; and _foreach_fused.

What steps do is tested by tests/optim/test_fused_steps.py.
"""

from ember import _C, _schemas

from ..entry import S, T, op

# They return whether the tensors could be changed at once, which strides decide.
SKIP = "noncontiguous meta"
LISTS = [T(3), T(2, 2)], [T(3), T(2, 2)]
STATE = [T(3, low=0.0), T(2, 2, low=0.0)]
SCALARS = [T(low=0.5, dtype="float32"), T(low=0.5, dtype="float32")]
OF_PARAMETERS = {"step", "mu_product", "eta", "mu"}


def step(name: str) -> None:
    params = _schemas.parse(getattr(_C, name).schemas[0]).params[2:]
    lists = [param.name for param in params if not param.keyword_only]
    kept = [SCALARS if entry in OF_PARAMETERS else STATE for entry in lists]
    options = {param.name: 0.1 for param in params if param.keyword_only}
    op(
        name,
        S(*LISTS, *kept, **options),
        grad=False,
        skip=SKIP,
        errors=[
            (
                S(*LISTS, *([values[0]] for values in kept), **options),
                RuntimeError,
                f"expected 2 tensors in {lists[0]}, one for each parameter, got 1",
            ),
            (
                S(LISTS[0], [T(3)], *kept, **options),
                RuntimeError,
                "expected 2 tensors in grads",
            ),
        ],
    )


for name in dir(_C):
    if name.startswith("_fused_"):
        step(name)

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
