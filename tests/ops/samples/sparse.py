"""Products with sparse matrices in compressed rows: core/ops/sparse.cpp."""

# fmt: off
import numpy as np

from tests.ops.entry import S, T, op

# [[0, v0, 0, v1], [0, 0, 0, 0], [v2, v3, 0, v4]]
START = np.array([0, 2, 2, 5])
COLUMNS = np.array([1, 3, 0, 1, 3])
ROWS = np.array([0, 0, 2, 2, 2])


def csr_mm(start, columns, values, dense, width, transposed=False):
    matrix = np.zeros((len(start) - 1, width), values.dtype)
    matrix[np.repeat(np.arange(len(start) - 1), np.diff(start)), columns] = values
    return (matrix.T if transposed else matrix) @ dense


def csr_sample(start, columns, a, b):
    return (a @ b.T)[ROWS[:len(columns)], columns]


op("_csr_mm", S(START, COLUMNS, T(5), T(4, 2), 4), S(START, COLUMNS, T(5), T(3, 2), 4, True),
   S(START, COLUMNS, T(5), T(4, 37), 4), S(START, COLUMNS, T(5), T(3, 67), 4, True),
   ref=csr_mm, dtypes="fhic", tol=20,
   skip="promotion empty",  # operands of one dtype; sizes are those of the indices
   errors=[(S(np.array([0, 2, 1]), np.array([0, 1]), T(2), T(4, 2), 4), RuntimeError, "not decrease"),
           (S(START, COLUMNS + 3, T(5), T(4, 2), 4), RuntimeError, "out of bounds"),
           (S(START, COLUMNS - 1, T(5), T(4, 2), 4), RuntimeError, "out of bounds"),
           (S(START, COLUMNS, T(4), T(4, 2), 4), RuntimeError, "cannot be multiplied"),
           (S(START, COLUMNS, T(5), T(3, 2), 4), RuntimeError, "cannot be multiplied")])
op("_csr_sample", S(START, COLUMNS, T(3, 2), T(4, 2)), S(START, COLUMNS, T(3, 37), T(4, 37)),
   ref=csr_sample, dtypes="fhic", tol=20,
   skip="promotion empty",  # as above
   errors=[(S(START, COLUMNS, T(3, 2), T(3, 2)), RuntimeError, "out of bounds"),
           (S(START, COLUMNS, T(2, 2), T(4, 2)), RuntimeError, "rows")])
