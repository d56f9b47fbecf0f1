"""Tensors put together: core/ops/join.cpp."""

# fmt: off
import numpy as np

from tests.ops.entry import S, T, alias, op

ANY = "bifhc"
PAIR = [T(2, 3), T(2, 3)]


def block_diag(*blocks):
    blocks = [np.atleast_2d(b) for b in blocks]
    out = np.zeros(np.sum([b.shape for b in blocks], 0), np.result_type(*blocks))
    i = j = 0
    for b in blocks:
        out[i:i + b.shape[0], j:j + b.shape[1]] = b
        i, j = i + b.shape[0], j + b.shape[1]
    return out


op("cat", S([T(2, 3), T(4, 3)]), S([T(2, 3), T(2, 1), T(2, 2)], dim=-1),
   S([T(2, 3), T(0, 3)], 0), S((T(2),), 0), dtypes=ANY,
   ref=lambda x, dim=0: np.concatenate(x, dim),
   errors=[(S([]), ValueError, "non-empty"),
           (S([T(2, 3), T(2, 4)]), RuntimeError, "Sizes of tensors must match"),
           (S([T(2, 3), T(2)]), RuntimeError, "same number of dimensions"),
           (S([T(), T()]), RuntimeError, "zero-dimensional"),
           (S(PAIR, 2), IndexError, "out of range"), (S(T(2, 3)), TypeError, "")])
alias("concat", "cat")
alias("concatenate", "cat")
op("stack", S(PAIR), S(PAIR, 1), S(PAIR, dim=-1), S([T(), T()]),
   ref=lambda x, dim=0: np.stack(x, dim), dtypes=ANY,
   errors=[(S([]), RuntimeError, "non-empty"),
           (S([T(2), T(3)]), RuntimeError, "equal size")])
EMPTY = [(S([]), RuntimeError, "non-empty")]
op("hstack", S(PAIR), S([T(2), T(3)]), S([T(), T()]), ref=np.hstack, result="promote",
   dtypes=ANY, errors=EMPTY)
op("vstack", S(PAIR), S([T(3), T(3)]), S([T(), T()]), ref=np.vstack, result="promote",
   dtypes=ANY, errors=EMPTY)
alias("row_stack", "vstack")
op("dstack", S(PAIR), S([T(3), T(3)]), ref=np.dstack, result="promote", dtypes=ANY,
   errors=EMPTY)
op("column_stack", S([T(3), T(3, 2)]), S([T(), T()]), ref=np.column_stack,
   result="promote", dtypes=ANY, errors=EMPTY)
op("block_diag", S(T(2, 3), T(2), T()), result="promote", dtypes=ANY, ref=block_diag,
   errors=[(S(T(2, 2, 2)), RuntimeError, "2 or fewer")])
