// The reductions, one row each, and the folds that these and scans are made of. Include it with the
// row macros you want defined; the others expand to nothing, all are undefined again at the end.
//
//   FOLD  (name, types, start, join)  how the next value b joins what has been folded before, a;
//                                     `start` is a fold of nothing: a number, or the lowest or
//                                     highest one. types: every, ordered (not complex), whole
//                                     (integers), scanned (for scans alone)
//   MAP   (name, text)                what is folded, of an element x; p is the order of a norm
//   FINISH(name, text)                the result, of what has been folded, a, and n elements
//   REDUCE(name, facts, map, fold, finish, gradient, doc)  an op: the sum of ... over `dim`
//   REDUCE_ONLY(name, facts, map, fold, finish)            the same, of an op that is written out
//   NORM  (order, map, fold, finish)  the orders of `norm` that have a shorter way
//
// Note [One text, four compilers] of scalar_functions.h holds here, too. A gradient is of x; it is
// in terms of g, x and n, and broadcasts to the shape of x. What is folded is of type T, that of x
// unless the result has another.

#ifndef FOLD
#define FOLD(...)
#endif
#ifndef MAP
#define MAP(...)
#endif
#ifndef FINISH
#define FINISH(...)
#endif
#ifndef REDUCE
#define REDUCE(...)
#endif
#ifndef REDUCE_ONLY
#define REDUCE_ONLY(...)
#endif
#ifndef NORM
#define NORM(...)
#endif

// clang-format off
FOLD(sum,       every,   0,       a + b)
FOLD(prod,      every,   1,       a * b)
FOLD(max,       ordered, lowest,  maximum(a, b))
FOLD(min,       ordered, highest, minimum(a, b))
FOLD(any,       whole,   0,       maximum(a, b))
FOLD(all,       whole,   1,       minimum(a, b))
FOLD(logsumexp, scanned, lowest,  logaddexp(a, b))

MAP(value,   x)
MAP(nonzero, x != (T)0)
MAP(number,  where(x == x, x, (T)0))
MAP(size,    abs(x))
MAP(square,  abs_squared(x))
MAP(power,   pow(abs(x), p))

FINISH(whole,   a)
FINISH(average, a / n)
FINISH(root,    sqrt(a))
FINISH(unpower, pow(a, 1 / p))

REDUCE(sum,    kAddsUp | kTwoForms | kInRegions, value, sum, whole, g, "Sum")
REDUCE(nansum, kAddsUp | kRealOnly, number, sum, whole, g * logical_not(isnan(x)),
       "Sum of what is not NaN")
REDUCE(mean,   kAverages | kTwoForms | kInRegions, value, sum, average, g / n, "Mean")

REDUCE_ONLY(prod, kAddsUp,          value, prod, whole)
REDUCE_ONLY(min,  kInRegions, value, min,  whole)
REDUCE_ONLY(max,  kInRegions, value, max,  whole)
REDUCE_ONLY(any,  0,                nonzero, any, whole)
REDUCE_ONLY(all,  0,                nonzero, all, whole)
REDUCE_ONLY(count_nonzero, 0,       nonzero, sum, whole)
REDUCE_ONLY(norm, 0,                power, sum, unpower)

NORM(0,        nonzero, sum, whole)
NORM(1,        size,    sum, whole)
NORM(2,        square,  sum, root)
NORM(kInfinity,    size,    max, whole)
NORM(-kInfinity,   size,    min, whole)
// clang-format on

#undef FOLD
#undef MAP
#undef FINISH
#undef REDUCE
#undef REDUCE_ONLY
#undef NORM
