"""More programs that people write themselves, for the kinds of work that those of
compile_programs.py have not: many steps of few ops, lists, lines that are normalised,
short rows, small tensors.
"""

from __future__ import annotations

from typing import Any

from benchmarks.compile_programs import Run, Way, program


@program
def mandelbrot(T: Way) -> Run:
    """30 iterations of a picture of 400 x 500."""
    re, im = T.uniform(-2, 0.6, 400, 500), T.uniform(-1.2, 1.2, 400, 500)

    @T.compile
    def f(re, im):
        x = y = count = T.zeros_like(re)
        for _ in range(30):
            x, y = x * x - y * y + re, 2.0 * x * y + im
            inside = x * x + y * y < 4.0
            count = T.where(inside, count + 1.0, count)
            x, y = T.where(inside, x, 0.0), T.where(inside, y, 0.0)
        return count.mean()

    return lambda: f(re, im)


@program
def epidemic(T: Way) -> Run:
    """Susceptible, infected, recovered: 50 steps of 2^15 towns."""
    n = 1 << 15
    healthy, ill = T.uniform(0.9, 1, n), T.uniform(0, 0.1, n)
    spread, cure = T.uniform(0.2, 0.5, n), T.uniform(0.05, 0.2, n)

    @T.compile
    def f(s, i, b, g):
        most = T.zeros_like(i)
        for _ in range(50):
            new, well = 0.1 * b * s * i, 0.1 * g * i
            s, i = s - new, i + new - well
            most = T.where(i > most, i, most)
        return most.mean()

    return lambda: f(healthy, ill, spread, cure)


@program
def ray_march(T: Way) -> Run:
    """A sphere on a plane, 24 steps of 256 x 256 rays."""
    rays = T.normal(256, 256, 3, scale=0.3)
    eye = T.tensor([0.0, 0.0, -3.0])

    @T.compile
    def f(rays, eye):
        rays = rays / ((rays * rays).sum(-1) + 1.0).sqrt()[:, :, None]
        far = T.zeros_like(rays[:, :, 0])
        for _ in range(24):
            at = eye + rays * far[:, :, None]
            ball, ground = (at * at).sum(-1).sqrt() - 1.0, at[:, :, 1] + 1.0
            near = T.where(ball < ground, ball, ground)
            far = far + T.where(near > 1.0, 1.0, near)
        return far.mean()

    return lambda: f(rays, eye)


@program
def kalman(T: Way) -> Run:
    """20,000 filters of two states, 30 steps."""
    seen = T.normal(30, 20_000)

    @T.compile
    def f(seen):
        x = v = b = T.zeros_like(seen[0])
        a = c = b + 1.0
        total = b
        for k in range(30):
            x, a, b, c = x + v, a + 2.0 * b + c + 0.01, b + c, c + 0.01
            p, q = a / (a + 0.5), b / (a + 0.5)
            off = seen[k] - x
            x, v = x + p * off, v + q * off
            a, b, c = (1.0 - p) * a, (1.0 - p) * b, c - q * b
            total = total + x
        return total.mean()

    return lambda: f(seen)


@program
def nearest(T: Way) -> Run:
    """Distances of k-means: 8,192 points, 32 centres."""
    points, centres = T.normal(8192, 16), T.normal(32, 16)

    @T.compile
    def f(points, centres):
        apart = points[:, None, :] - centres[None, :, :]
        return (apart * apart).sum(-1).min(-1)

    def run() -> Any:
        found = f(points, centres)
        return (found[0] if isinstance(found, tuple) else found).mean()

    return run


@program
def rotary(T: Way) -> Run:
    """Rotary embeddings of queries with gradients, 4 x 256 x 8 x 64."""
    q = T.normal(4, 256, 8, 64).requires_grad_()
    angles = T.uniform(0, 6, 1, 256, 1, 64)
    cos, sin = angles.cos(), angles.sin()

    @T.compile
    def f(q, cos, sin):
        turned = T.cat([-q[..., 32:], q[..., :32]], -1)
        return q * cos + turned * sin

    return lambda: T.autograd.grad((f(q, cos, sin) ** 2).sum(), q)[0].abs().sum()


@program
def mixture(T: Way) -> Run:
    """The likelihood of a mixture of 16 normal distributions, with gradients."""
    x = T.normal(1 << 14, 1)
    mean, scale, weight = (T.normal(16, scale=0.3).requires_grad_() for _ in range(3))

    @T.compile
    def f(x, mean, scale, weight):
        each = -0.5 * ((x - mean) / scale.exp()) ** 2 - scale
        return -T.logsumexp(each + T.log_softmax(weight, 0), 1).mean()

    leaves = mean, scale, weight
    return lambda: T.autograd.grad(f(x, *leaves), leaves)[0].abs().sum()


@program
def adam_by_lists(T: Way) -> Run:
    """Adam by functions of whole lists: 20 parameters."""
    shapes = [(512, 128)] * 10 + [(512,)] * 10
    ps, gs = ([T.normal(*s) for s in shapes] for _ in range(2))
    ms, vs = ([T.zeros_like(p) for p in ps] for _ in range(2))

    @T.compile
    def f(ps, gs, ms, vs, rate):
        T._foreach_mul_(ms, 0.9)
        T._foreach_add_(ms, gs, alpha=0.1)
        T._foreach_mul_(vs, 0.99)
        T._foreach_addcmul_(vs, gs, gs, 0.01)
        down = T._foreach_sqrt(vs)
        T._foreach_add_(down, 1e-8)
        T._foreach_addcdiv_(ps, ms, down, -rate)

    def run() -> Any:
        f(ps, gs, ms, vs, 1e-3)
        return ms[0].sum()

    return run


@program
def averages(T: Way) -> Run:
    """An exponential average of 24 parameters."""
    shapes = [(256, 256)] * 12 + [(256,)] * 12
    ps, es = ([T.normal(*s) for s in shapes] for _ in range(2))

    @T.compile
    def f(ps, es):
        for p, e in zip(ps, es, strict=True):
            e.mul_(0.999).add_(p, alpha=0.001)

    def run() -> Any:
        f(ps, es)
        return es[0].sum()

    return run


@program
def pendulum(T: Way) -> Run:
    """Runge-Kutta with 100 sines, 10,000 pendulums."""
    start = T.normal(10_000), T.normal(10_000)

    @T.compile
    def f(angle, speed):
        h = 0.01
        for _ in range(25):
            k = [(speed, -9.81 * T.sin(angle) - 0.1 * speed)]
            for part in (h / 2, h / 2, h):
                a, s = angle + part * k[-1][0], speed + part * k[-1][1]
                k.append((s, -9.81 * T.sin(a) - 0.1 * s))
            (a, s), (b, t), (c, u), (d, v) = k
            angle = angle + h / 6 * (a + 2.0 * b + 2.0 * c + d)
            speed = speed + h / 6 * (s + 2.0 * t + 2.0 * u + v)
        return (angle * speed).mean()

    return lambda: f(*start)


@program
def advantages(T: Way) -> Run:
    """Generalised advantages: 128 steps of 1,024 games."""
    reward, value = T.normal(128, 1024), T.normal(129, 1024)
    goes_on = T.uniform(0.8, 1, 128, 1024)

    @T.compile
    def f(reward, value, goes_on):
        found = total = T.zeros_like(reward[0])
        for k in range(127, -1, -1):
            off = reward[k] + 0.99 * value[k + 1] * goes_on[k] - value[k]
            found = off + 0.94 * goes_on[k] * found
            total = total + found
        return total.mean()

    return lambda: f(reward, value, goes_on)


@program
def edges(T: Way) -> Run:
    """Sobel's filter by slices of 8 pictures."""
    x = T.uniform(0, 1, 8, 256, 256)

    @T.compile
    def f(x):
        left, right = x[:, :, :-2], x[:, :, 2:]
        over, under = x[:, :-2], x[:, 2:]
        a, b = (right - left), (under - over)
        gx = a[:, :-2] + 2.0 * a[:, 1:-1] + a[:, 2:]
        gy = b[:, :, :-2] + 2.0 * b[:, :, 1:-1] + b[:, :, 2:]
        size = (gx * gx + gy * gy).sqrt()
        return T.where(size > 0.5, size, 0.0).mean()

    return lambda: f(x)
