"""Matrix products: core/ops/matmul.cpp."""

# fmt: off
import numpy as np

from tests.ops.entry import S, T, alias, op

TOL = 20


def product(name, *samples, ref=np.matmul, **fields):
    op(name, *samples, ref=ref, dtypes="ifhc", result="promote", tol=TOL, **fields)


def added(name, *samples, ref=np.matmul, summed=False):
    """beta * self + alpha * product, over the batch if `summed`."""

    def reference(x, a, b, beta=1, alpha=1):
        y = ref(a, b)
        return beta * x + alpha * (y.sum(0) if summed else y)

    op(name, *samples, *(S(*s.args, beta=2, alpha=3) for s in samples), ref=reference,
       dtypes="ifhc", result="promote", tol=TOL)


product("mm", S(T(3, 4), T(4, 5)), S(T(3, 1), T(1, 2)), errors=[
    (S(T(3, 4), T(3, 4)), RuntimeError, "3x4 and 3x4|\\(3, 4\\)|cannot be multiplied"),
    (S(T(3), T(3, 4)), RuntimeError, "matri|2")])
product("bmm", S(T(2, 3, 4), T(2, 4, 5)), errors=[
    (S(T(2, 3, 4), T(3, 4, 5)), RuntimeError, "batch|size"),
    (S(T(3, 4), T(4, 5)), RuntimeError, "3")])
product("mv", S(T(3, 4), T(4)), errors=[(S(T(3, 4), T(3)), RuntimeError, "size")])
product("dot", S(T(5), T(5)), ref=np.dot, errors=[(S(T(5), T(4)), RuntimeError, "")])
product("vdot", S(T(5), T(5)), ref=np.vdot)
product("matmul", S(T(3, 4), T(4, 5)), S(T(4), T(4)), S(T(3, 4), T(4)), S(T(4), T(4, 5)),
        S(T(2, 1, 3, 4), T(5, 4, 2)), S(T(2, 3, 4), T(4)), S(T(2, 3, 4), T(4, 2)), errors=[
    (S(T(3, 4), T(3, 4)), RuntimeError, ""), (S(T(), T(3)), RuntimeError, "")])
product("outer", S(T(3), T(4)), ref=np.outer, skip="empty")  # a size for each
alias("ger", "outer")
product("inner", S(T(2, 4), T(3, 4)), S(T(4), T(4)), ref=np.inner)
added("addmm", S(T(3, 5), T(3, 4), T(4, 5)), S(T(5), T(3, 4), T(4, 5)))
added("baddbmm", S(T(2, 3, 5), T(2, 3, 4), T(2, 4, 5)), S(T(5), T(2, 3, 4), T(2, 4, 5)))
added("addbmm", S(T(3, 5), T(2, 3, 4), T(2, 4, 5)), summed=True)
added("addmv", S(T(3), T(3, 4), T(4)))
added("addr", S(T(3, 4), T(3), T(4)), ref=np.outer)
op("nn.functional.linear", S(T(2, 4), T(3, 4)), S(T(2, 5, 4), T(3, 4), T(3)),
   S(T(4), T(3, 4), T(3)), tol=TOL, dtypes="fhc", result="promote",
   ref=lambda x, w, b=0: x @ w.T + b,
   errors=[(S(T(2, 3), T(3, 4)), RuntimeError, "")])
