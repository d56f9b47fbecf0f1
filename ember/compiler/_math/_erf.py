"""The error function and the normal distribution (core/cpu/vmath.h)."""

from __future__ import annotations

from ember.compiler._graph import V
from ember.compiler._math._basic import abs, at_most, copysign, fused, is32, poly, where
from ember.compiler._math._exp import exp, exp_negative


def _erf_near(x: V) -> V:
    if is32(x):
        c: tuple[float, ...] = (0.128379166, -0.376126289, 0.112836242, -0.0268555861)
        c += (0.00519193616, -0.000804361189, 7.96815511e-05)
        return x + x * poly(x * x, *c)
    c = (0.12837916709551259, -0.37612638903184109, 0.11283791670972063)
    c += (-0.026866170648280455, 0.0052239776556772108, -0.00085483287347400626)
    c += (0.00012055394306941992, -1.4927094208198774e-05, 1.6484718567287526e-06)
    c += (-1.6598203371879576e-07, 1.630283790054986e-08, -1.7629228492924299e-09)
    c += (1.6380072869948533e-10,)
    return x + x * poly(at_most(x * x, 1.0), *c)


def erf(x: V) -> V:
    if not is32(x):
        a = abs(x)
        return where(a < 1, _erf_near(x), copysign(1 - erfc(a), x))
    a = at_most(abs(x), 4.0)
    g = poly(
        a,
        *(-0.000153427944, 1.12939727, 0.633626938, 0.107906014, -0.0248128548),
        *(0.004013306, -0.000384710467, 1.23069021e-05, 6.65428843e-07),
    )
    far = 1 - exp_negative(-g)
    return where(a < 0.92, _erf_near(x), copysign(far, x))


def ndtr(x: V) -> V:
    if not is32(x):
        return 0.5 * erfc(-0.70710678118654752440 * x)
    a = abs(x)
    g = poly(
        at_most(a, 6.0),
        *(0.693147182, 0.79788506, 0.318304241, 0.0363557152, -0.00481412746),
        *(-1.34756892e-05, 0.000209309539, -6.14718811e-05, 1.02008134e-05),
        *(-1.05048321e-06, 6.25587546e-08, -1.65001546e-09),
    )
    e = where(a > 6, x.const(0), exp_negative(-g))
    return where(x > 0, 1 - e, e)


def _erfcx_times(t: V) -> V:
    if is32(t):
        c: tuple[float, ...] = (1.27697837, -0.0927638933, -0.166031465, 0.164052919)
        c += (-0.0542040691, -0.00804222189, 0.00863511674, 0.00126477878)
        c += (-0.00125234865, -0.000354520482, 3.14406207e-05)
        return poly(t, *c)
    return poly(
        t,
        *(1.2329951186255526, -0.13962111684056253, 0.015379652102619622),
        *(0.068097054254695324, -0.10103906603629773, 0.093732834998256298),
        *(-0.066330365812360084, 0.037167515538976979, -0.016197734056208224),
        *(0.0050319699648878786, -0.00075777329924012421, -0.00019925662553687442),
        *(0.00015062172346314614, -2.4399442216574131e-05, -1.1222182981301679e-05),
        *(5.7101967667310846e-06, 2.9416174422457131e-07, -8.2596648765529539e-07),
        *(7.4105418921805464e-08, 1.1033294746053505e-07, -1.7469717956764381e-08),
        *(-1.4070585701971344e-08, 1.6772899475331411e-09, 1.1981416315407854e-09),
    )


def _square_error(a: V, square: V) -> V:
    if a.graph.fma:
        return fused(a, a, -square)
    split = a * (4097 if is32(a) else 134217729)
    high = split - (split - a)
    low = a - high
    return ((high * high - square) + 2 * high * low) + low * low


def erfc(x: V) -> V:
    k, end = (2, 10.5) if is32(x) else (4, 28)
    a = at_most(abs(x), end)
    square = a * a
    e = exp(-square) * (1 - _square_error(a, square))
    y = e * _erfcx_times((a - k) / (a + k)) / (1 + 2 * a)
    y = where(x < 0, 2 - y, where(x > end, x.const(0), y))
    return where(a < 0.5, 1 - _erf_near(x), y)
