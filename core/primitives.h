// The contract between ops and devices: one row for each primitive that a device may provide. Every
// op ends in calls of these. A primitive never sees a gradient, a type promotion or a Python
// object. Outputs come allocated, with their final shape and dtype; operands are already broadcast
// to the output's shape (stride 0 where repeated). A primitive converts operands to `compute` as it
// reads them and to the output's dtype as it writes. What is undefined is not wanted, or not there.
//
//   PRIMITIVE(need, result, name, arguments...)
//     need       Required: there is no default, a device that lacks it raises "Could not run ...".
//                Default: decomposes into others; a device overrides what it can fuse.
//                Fused: as Required, but ops ask has() first and go on in steps without it.
//     result     void, or Tensor where the size of the result depends on data
//     arguments  OUT, IN, CHANGED: a tensor that is written, read, or both. OUTS, INS, ALL_CHANGED:
//                lists of them.  OPERAND: a tensor that is broadcast by strides, or a number.
//                ATTR(type, name): anything else; a struct says which tensors it has (operands.h).
//
// Include it with PRIMITIVE defined; it is undefined again at the end. backend.h makes the methods
// of Backend of it, so read a row as a method: `virtual void flip(const Tensor& out, ...)`.

#define OUT(name) (Out, const Tensor&, name)
#define IN(name) (In, const Tensor&, name)
#define CHANGED(name) (Changed, const Tensor&, name)
#define OUTS(name) (Out, const TensorList&, name)
#define INS(name) (In, const TensorList&, name)
#define ALL_CHANGED(name) (Changed, const TensorList&, name)
#define OPERAND(name) (In, const Input&, name)
#define ATTR(type, name) (Attr, type, name)

// --- pointwise -----------------------------------------------------------------------------------

// Same device, any strides and dtypes, same shape.
PRIMITIVE(Required, void, copy, OUT(out), IN(x))
PRIMITIVE(Required, void, fill, OUT(out), ATTR(const Scalar&, value))
PRIMITIVE(Required, void, unary, ATTR(Unary, f), ATTR(Dtype, compute), OUT(out), OPERAND(x),
          ATTR(const Params&, params))
PRIMITIVE(Required, void, binary, ATTR(Binary, f), ATTR(Dtype, compute), OUT(out), OPERAND(a),
          OPERAND(b))
PRIMITIVE(Required, void, predicate, ATTR(Predicate, f), ATTR(Dtype, compute), OUT(out), OPERAND(x))
PRIMITIVE(Required, void, compare, ATTR(Compare, f), ATTR(Dtype, compute), OUT(out), OPERAND(a),
          OPERAND(b), ATTR(const Params&, params))
PRIMITIVE(Required, void, ternary, ATTR(Ternary, f), ATTR(Dtype, compute), OUT(out), OPERAND(a),
          OPERAND(b), OPERAND(c), ATTR(const Params&, params))
// out = g * conj(derivative of f), from what the row keeps (x or y).
PRIMITIVE(Fused, void, unary_grad, ATTR(Unary, f), ATTR(Dtype, compute), OUT(out), OPERAND(g),
          OPERAND(keep), ATTR(const Params&, params))
// A row for whole lists: entry i of `out` from entry i of each input. All are contiguous, of one
// floating dtype, and entries i of one shape. Numbers, one for all entries or one for each, are the
// last input if there is a list too few, else the row's parameter. Lists not used are empty.
PRIMITIVE(Default, void, list_pointwise, ATTR(ListRow, f), OUTS(out), INS(a), INS(b), INS(c),
          ATTR(const std::vector<double>&, numbers))

// --- reductions: `out` has size 1 along the reduced dimensions -----------------------------------

// `p` is the order of Norm. Min and Max have something to reduce, and let NaN win.
PRIMITIVE(Required, void, reduce, ATTR(Reduction, f), OUT(out), IN(x), ATTR(const Shape&, dims),
          ATTR(double, p))
// The largest (or smallest) element along `dim` and its place, the first on ties; either output may
// be undefined.
PRIMITIVE(Required, void, extremes, OUT(values), OUT(indices), IN(x), ATTR(int, dim),
          ATTR(bool, most))
// Variance of real floats, divided by count - correction; its root if wanted; and the mean.
PRIMITIVE(Required, void, variance, OUT(out), OUT(mean), IN(x), ATTR(const Shape&, dims),
          ATTR(double, correction), ATTR(bool, root))

// --- indexing ------------------------------------------------------------------------------------
// A position out of bounds is an IndexError, in gather and scatter a RuntimeError: "index 5 is out
// of bounds for dimension 0 with size 3". Where positions repeat, later ones win or add up, in
// order.

// out is contiguous
PRIMITIVE(Required, void, index_get, OUT(out), IN(x), ATTR(const Indexing&, at))
PRIMITIVE(Required, void, index_put, CHANGED(self), ATTR(const Indexing&, at), IN(values),
          ATTR(ScatterMode, mode))
// out and index (int64) have one shape, no larger than x's but along `dim`.
PRIMITIVE(Required, void, gather, OUT(out), IN(x), ATTR(int, dim), IN(index))
PRIMITIVE(Required, void, scatter, CHANGED(self), ATTR(int, dim), IN(index), IN(src),
          ATTR(ScatterMode, mode))
// int64, (elements, dimensions)
PRIMITIVE(Required, Tensor, nonzero, IN(x))

// --- moves ---------------------------------------------------------------------------------------

// Operands have one shape.
PRIMITIVE(Default, Tensor, masked_select, IN(x), IN(mask))
PRIMITIVE(Default, void, masked_scatter, CHANGED(self), IN(mask), IN(src))
PRIMITIVE(Default, void, flip, OUT(out), IN(x), ATTR(const Shape&, dims))
// i, counts[i] times, for each i
PRIMITIVE(Required, Tensor, repeated_positions, IN(counts))
// cat
PRIMITIVE(Default, void, join, OUT(out), INS(parts), ATTR(int, dim))

// --- sequences and triangles ---------------------------------------------------------------------

// out (n): start + i * step
PRIMITIVE(Default, void, arange, OUT(out), ATTR(const Scalar&, start), ATTR(const Scalar&, step))
// out and x (..., M, N): x on and below (or above) a diagonal, 0 elsewhere.
PRIMITIVE(Default, void, triangle, OUT(out), IN(x), ATTR(int64_t, diagonal), ATTR(bool, upper))

// --- matrix products -----------------------------------------------------------------------------

// out = beta * out + alpha * (a @ b): out (..., M, N), a (..., M, K), b (..., K, N), any strides;
// the batch dimensions agree (stride 0 where a matrix is repeated).
PRIMITIVE(Required, void, matmul, CHANGED(out), IN(a), IN(b), ATTR(const Scalar&, alpha),
          ATTR(const Scalar&, beta))
// out (M, N) = x (M, K) @ W.T, all but x contiguous, W (N, K) of 8 or 4 bits: scale * q + offset,
// with scales and offsets (float32, the latter may be undefined) of shape (N, groups).
// cpu/kernels/weight_kernels.h says how they lie in memory.
PRIMITIVE(Fused, void, weights_matmul, OUT(out), IN(x), IN(weights), IN(scales), IN(offsets))

// --- along one dimension -------------------------------------------------------------------------

// What lies up to each element, folded; computed in the dtype of `out`. Max and Min also give its
// place (`indices`; the latest of equals), and NaN stays.
PRIMITIVE(Required, void, scan, ATTR(Fold, f), OUT(out), OUT(indices), IN(x), ATTR(int, dim))
// Stable; NaN counts as the largest. Here and in topk, either output may be undefined.
PRIMITIVE(Required, void, sort, OUT(values), OUT(indices), IN(x), ATTR(int, dim),
          ATTR(bool, descending))
// As many of the largest (or smallest) as the outputs have room for; if not `sorted`, in any order.
PRIMITIVE(Default, void, topk, OUT(values), OUT(indices), IN(x), ATTR(int, dim),
          ATTR(bool, largest), ATTR(bool, sorted))
// The element of rank k (from 0) along `dim`, the lower median (of all, where one NaN decides, or
// of what is not NaN), or the most frequent element. The default knows the first of these.
PRIMITIVE(Default, void, pick, OUT(values), OUT(indices), IN(x), ATTR(int, dim), ATTR(Rank, rank),
          ATTR(int64_t, k))
// How many elements of a sorted line are less than each value (`right`: not greater). `sorted` has
// one line, or one for each line of `values`; it may be sorted only when read in the order of
// `sorter`.
PRIMITIVE(Required, void, search, OUT(out), IN(sorted), IN(values), IN(sorter), ATTR(bool, right))
// `y` is the softmax; logsumexp's output has size 1 along `dim`.
PRIMITIVE(Default, void, softmax, OUT(out), IN(x), ATTR(int, dim), ATTR(bool, log))
PRIMITIVE(Default, void, softmax_grad, OUT(out), IN(g), IN(y), ATTR(int, dim), ATTR(bool, log))
PRIMITIVE(Default, void, logsumexp, OUT(out), IN(x), ATTR(int, dim))

// --- random numbers ------------------------------------------------------------------------------

// Fills `out` in the order of its memory. The default draws on the host and copies, so that a seed
// gives the same numbers on every device.
PRIMITIVE(Default, void, random, OUT(out), ATTR(Generator&, g), ATTR(const Draw&, draw))
// out = 1 where x is positive, elsewhere uniform between two numbers. Both are contiguous, of one
// dtype. The default draws a number for every element.
PRIMITIVE(Default, void, random_slopes, OUT(out), IN(x), ATTR(double, lower), ATTR(double, upper),
          ATTR(Generator&, g))
// Fills `out`, in the order of its memory, with numbers of which each has parameters of its own: a,
// and b if there are two, of the shape of `out`. Dirichlet: points of the simplex in the last
// dimension. Multinomial: out (..., n) has n indices into each row of weights a (..., k), drawn
// with replacement; FirstEvents: without, as the first of k events after the times b. The default
// is made of ops. A parameter that makes no sense is a RuntimeError.
PRIMITIVE(Default, void, sample, ATTR(Sampler, f), OUT(out), IN(a), IN(b), ATTR(Generator&, g))
// How samples x of Gamma or Dirichlet move with the parameters alpha that they were drawn with;
// `total` is the sum of alpha for Dirichlet. All are floating, of one shape.
PRIMITIVE(Required, void, sample_grad, ATTR(Sampler, f), OUT(out), IN(x), IN(alpha), IN(total))

// --- linear algebra ------------------------------------------------------------------------------
// Dense factorisations, as LAPACK has them. cholesky and solve_triangular take contiguous matrices.
// In the others every operand is a batch of matrices laid out by columns: the last two strides are
// 1 and the number of rows, the batch in front is contiguous (ops/linalg.h: by_columns). Vectors
// per matrix (pivots, tau, values) are contiguous. All have one dtype, float32, float64 or their
// complex partners, unless said otherwise, and nothing is empty. `info` (int32, one per matrix) is
// 0, or what LAPACK says.

// The lower triangle becomes the Cholesky factor; info is 0, or the order of the minor that fails.
PRIMITIVE(Required, void, cholesky, CHANGED(matrices), OUT(info))
// b becomes the solution x of a x = b (or x a = b), a being triangular.
PRIMITIVE(Required, void, solve_triangular, IN(a), CHANGED(b), ATTR(bool, upper), ATTR(bool, left),
          ATTR(bool, unit))
// a (m, n) becomes its packed LU factors; pivots (int32, k = min(m, n)) count rows from 1. info is
// the first column without a pivot.
PRIMITIVE(Required, void, lu, CHANGED(a), OUT(pivots), OUT(info))
// b becomes the x with op(a) x = b, from the factors of lu().
PRIMITIVE(Required, void, lu_solve, IN(lu), IN(pivots), CHANGED(b), ATTR(Apply, op))
// out becomes the inverse of a.
PRIMITIVE(Default, void, lu_inverse, IN(lu), IN(pivots), OUT(out))
// rows (int64, m): which row each one of the factors was, from the pivots (k) of lu().
PRIMITIVE(Required, void, pivot_order, IN(pivots), OUT(rows))
// Symmetric or Hermitian a (its lower triangle) becomes its packed LDL factors (Bunch-Kaufman).
PRIMITIVE(Required, void, ldl, CHANGED(a), OUT(pivots), OUT(info), ATTR(bool, hermitian))
PRIMITIVE(Required, void, ldl_solve, IN(ld), IN(pivots), CHANGED(b), ATTR(bool, hermitian))
// a (m, n) becomes R and, below it, the vectors of the reflectors whose factors are tau (k).
PRIMITIVE(Required, void, qr, CHANGED(a), OUT(tau))
// The reflectors in a (m, n), m >= n, become the first n columns of their product.
PRIMITIVE(Required, void, reflect_identity, CHANGED(a), IN(tau))
// c becomes Q c, Q^H c, c Q or c Q^H, Q being the product of all reflectors in a.
PRIMITIVE(Required, void, reflect, IN(a), IN(tau), CHANGED(c), ATTR(bool, left),
          ATTR(bool, adjoint))
// a (n, n), of which one triangle is read, becomes its eigenvectors if they are wanted; values are
// real, ascending.
PRIMITIVE(Required, void, eigh, CHANGED(a), OUT(values), OUT(info), ATTR(bool, upper),
          ATTR(bool, vectors))
// Complex values (n) and, if defined, right eigenvectors (n, n) of a, which is destroyed.
PRIMITIVE(Required, void, eig, CHANGED(a), OUT(values), OUT(vectors), OUT(info))
// Real singular values s (k) of a, which is destroyed, and, if defined, u (m, m or k) and vh (n or
// k, n).
PRIMITIVE(Required, void, svd, CHANGED(a), OUT(s), OUT(u), OUT(vh), OUT(info))
// b (max(m, n), columns) becomes the least-norm solution in its first n rows; a is destroyed. rank
// (int32) and singular values (k, real) where the driver computes them.
PRIMITIVE(Required, void, least_squares, ATTR(LeastSquares, driver), CHANGED(a), CHANGED(b),
          ATTR(double, rcond), OUT(rank), OUT(s), OUT(info))

// --- Fourier transforms --------------------------------------------------------------------------
// Along one dimension. Nothing is scaled but by `scale`, nothing padded: the ops do that.

// out[k] = scale * sum_j x[j] exp(-+ 2 pi i j k / n), with + if `inverse`. Both complex, of one
// shape and dtype; any strides; out may be x.
PRIMITIVE(Required, void, fft_c2c, OUT(out), IN(x), ATTR(int, dim), ATTR(bool, inverse),
          ATTR(double, scale))
// The first n / 2 + 1 of the n results for real x, forward.
PRIMITIVE(Required, void, fft_r2c, OUT(out), IN(x), ATTR(int, dim), ATTR(double, scale))
// The n real results, inverse, for x of which the first n / 2 + 1 are given; n is the size of
// `out`. Imaginary parts of x[0] and, for even n, x[n / 2] count as 0.
PRIMITIVE(Required, void, fft_c2r, OUT(out), IN(x), ATTR(int, dim), ATTR(double, scale))

// --- convolutions --------------------------------------------------------------------------------
// Of one to three axes. What an operand is to another:
//     y[n, o, p] = bias[o] + sum over c, k of w[o, c, k] * x[n, c, p * stride + k * dilation - pad]
// The three products of this sum are each other's gradients, so there is nothing else to fuse.
// x (N, C, ...), w (O, C / groups, ...), y and g (N, O, ...); no size is 0. Tensors are of one
// dtype and have any strides; results are contiguous or channels-last. Any dtype but bool.

// The bias may be undefined.
PRIMITIVE(Fused, void, conv, OUT(y), IN(x), IN(w), IN(bias), ATTR(const Moves&, moves))
// The gradients of x, w and the bias from that of y; those not wanted are undefined. `dx` alone is
// a transposed convolution of g, and then x is undefined.
PRIMITIVE(Fused, void, conv_grad, OUT(dx), OUT(dw), OUT(dbias), IN(g), IN(x), IN(w),
          ATTR(const Moves&, moves))
// columns (N, C * taps, places): the elements of x under the kernel at each place; and x as the sum
// of the columns that hold an element. `size` is that of the last axes of y.
PRIMITIVE(Fused, void, unfold, OUT(columns), IN(x), ATTR(const Shape&, kernel),
          ATTR(const Shape&, size), ATTR(const Moves&, moves))
PRIMITIVE(Fused, void, fold, OUT(x), IN(columns), ATTR(const Shape&, kernel),
          ATTR(const Shape&, size), ATTR(const Moves&, moves))

// --- pooling -------------------------------------------------------------------------------------
// Over windows of one to three axes. Windows of any kind (sliding, adaptive) are lists of where
// each begins and ends. Tensors are (N, C, ...), of one dtype but for indices, contiguous or
// channels-last, with no size 0.

// The maximum of each window and, if defined, its position in the flattened last axes of x (int64).
// The first of equals counts; NaN is larger than all. Any real dtype.
PRIMITIVE(Fused, void, max_pool, OUT(y), OUT(indices), IN(x), ATTR(const PoolWindows&, windows))
// dx is 0 but for the sums of g at these positions.
PRIMITIVE(Fused, void, max_pool_grad, OUT(dx), IN(g), IN(indices))
// The mean of each window, or its sum divided by `divisor` if that is not 0. Floats and int64.
PRIMITIVE(Fused, void, mean_pool, OUT(y), IN(x), ATTR(const PoolWindows&, windows),
          ATTR(int64_t, divisor))
PRIMITIVE(Fused, void, mean_pool_grad, OUT(dx), IN(g), ATTR(const PoolWindows&, windows),
          ATTR(int64_t, divisor))
// Resampling of float32 and float64 along `dim`, and its gradient.
PRIMITIVE(Fused, void, blend, OUT(y), IN(x), ATTR(int, dim), ATTR(const Taps&, taps))
PRIMITIVE(Fused, void, blend_grad, OUT(dx), IN(g), ATTR(int, dim), ATTR(const Taps&, taps))

// --- normalization -------------------------------------------------------------------------------
// Statistics, scaling and their gradients in one pass each. All tensors are floating. Statistics
// and everything in between are float64 for float64, else float32.

// Each row of x (M, N) by its own statistics: out = (x - mean) * rstd * weight + bias, weight and
// bias (N). An undefined mean means the root mean square: nothing is subtracted.
PRIMITIVE(Fused, void, norm_rows, OUT(out), OUT(mean), OUT(rstd), IN(x), IN(weight), IN(bias),
          ATTR(double, eps))
PRIMITIVE(Fused, void, norm_rows_grad, OUT(dx), OUT(dweight), OUT(dbias), IN(g), IN(x), IN(mean),
          IN(rstd), IN(weight))
// Groups of channels of x (N, C, S), contiguous: mean and rstd (N * groups), weight and bias (C).
PRIMITIVE(Fused, void, norm_groups, OUT(out), OUT(mean), OUT(rstd), IN(x), IN(weight), IN(bias),
          ATTR(double, eps))
PRIMITIVE(Fused, void, norm_groups_grad, OUT(dx), OUT(dweight), OUT(dbias), IN(g), IN(x), IN(mean),
          IN(rstd), IN(weight))
// Channels of x (N, C, S) over N and S; x and out have one layout, contiguous or with C last. mean
// and variance (C), the latter divided by the count.
PRIMITIVE(Fused, void, channel_moments, OUT(mean), OUT(variance), IN(x))
// out = x * scale + shift, for each channel.
PRIMITIVE(Fused, void, channel_scale, OUT(out), IN(x), IN(scale), IN(shift))
// The sums of g and of g * (x - mean) over each channel.
PRIMITIVE(Fused, void, channel_dots, OUT(sum), OUT(dot), IN(g), IN(x), IN(mean))
// dx = g * by_g + x * by_x + rest, for each channel.
PRIMITIVE(Fused, void, channel_combine, OUT(dx), IN(g), IN(x), IN(by_g), IN(by_x), IN(rest))

// --- attention -----------------------------------------------------------------------------------
// Without the matrix of scores: blocks of keys, and a softmax that is corrected as larger scores
// come (Dao et al. 2022, arXiv:2205.14135).

// out (B, H, L, D) = softmax(q k' * scale + mask) v, for q (B, H, L, E), k (B, G, S, E) and v (B,
// G, S, D), where H is a multiple of G: neighbouring heads share keys. logsumexp (B, H, L) is what
// attention_grad needs of the scores. A query that sees nothing gets zeros. Any strides.
PRIMITIVE(Fused, void, attention, OUT(out), OUT(logsumexp), IN(q), IN(k), IN(v),
          ATTR(const AttentionOptions&, options))
PRIMITIVE(Fused, void, attention_grad, OUT(dq), OUT(dk), OUT(dv), IN(g), IN(q), IN(k), IN(v),
          IN(out), IN(logsumexp), ATTR(const AttentionOptions&, options))

// --- recurrent layers ----------------------------------------------------------------------------
// The part that goes step by step, whole sequences at once. What all steps have in common (the
// product with the input, the gradients of the weights) the op computes for all of them together.

PRIMITIVE(Fused, void, recurrent, ATTR(const Steps&, steps), ATTR(const RecurrentForward&, layer))
PRIMITIVE(Fused, void, recurrent_grad, ATTR(const Steps&, steps),
          ATTR(const RecurrentBackward&, layer))

// --- losses over classes -------------------------------------------------------------------------
// log_softmax and the choice of the target in one pass, and the gradient in one pass. x is (N, C,
// S), contiguous, with classes in the middle; targets are int64 (N, S).

// loss (N, S): of each target, weighted; count (N, S): the weight of each target, 0 where it is
// ignored. With `logsumexp` (2, N, S) defined, x are logits and it is filled; otherwise they are
// log-probabilities. A target out of bounds is an IndexError.
PRIMITIVE(Fused, void, class_loss, OUT(loss), OUT(count), OUT(logsumexp), IN(x),
          ATTR(const ClassLoss&, target))
// dx from g (N, S), the gradient of each loss.
PRIMITIVE(Fused, void, class_loss_grad, OUT(dx), IN(g), IN(logsumexp), IN(x),
          ATTR(const ClassLoss&, target))

// --- products with sparse matrices ---------------------------------------------------------------
// In compressed rows (CSR). Positions out of bounds are a RuntimeError. All other operands have the
// dtype of `out`, and all are contiguous.

// out (R, N) = a @ dense (width, N), or, transposed, out (width, N) = a^T @ dense (R, N).
PRIMITIVE(Default, void, sparse_mm, OUT(out), ATTR(const CsrRows&, a), IN(values), IN(dense),
          ATTR(bool, transposed))
// out[k] = sum_j a[r, j] * b[c, j] for each element k of the matrix, at (r, c): a (R, N), b (width,
// N).
PRIMITIVE(Default, void, sampled_mm, OUT(out), ATTR(const CsrRows&, at), IN(a), IN(b))

// --- optimizer steps -----------------------------------------------------------------------------

// A row of optim_formulas.h over whole lists of parameters, in one pass over memory. Entry i of
// each list belongs to parameter i: contiguous, of its size and (real, floating) dtype. Parameters
// share no memory. `state` and `scalars` hold all lists of the row, one after the other; a list
// that is missing, undefined tensors. Scalars have one element, on any device; step_numbers() reads
// and changes them. Half-precision values are widened, and rounded once, when they are written.
PRIMITIVE(Fused, void, update, ATTR(Update, f), ALL_CHANGED(params), INS(grads), ALL_CHANGED(state),
          ALL_CHANGED(scalars), ATTR(const std::vector<double>&, options))

#undef OUT
#undef IN
#undef CHANGED
#undef OUTS
#undef INS
#undef ALL_CHANGED
#undef OPERAND
#undef ATTR
#undef PRIMITIVE
