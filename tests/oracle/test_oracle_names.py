"""Small functions beside torch's: grouped products, storages, schemas, contexts."""

import warnings
from collections.abc import Sequence

import pytest

import ember

torch = pytest.importorskip("torch")


@pytest.mark.parametrize(
    "a, b, ends",
    [
        ((6, 8), (2, 8, 4), (2, 6)),
        ((2, 3, 8), (8, 8), (4, 8)),
        ((4, 8), (8, 4), (3, 8)),
        ((2, 3, 8), (2, 8, 4), None),
    ],
)
def test_grouped_products(a, b, ends):
    made = {}
    for lib in (ember, torch):
        lib.manual_seed(0)
        x, y = (lib.randn(shape, requires_grad=True) for shape in (a, b))
        offs = None if ends is None else lib.tensor(ends, dtype=lib.int32)
        out = lib.nn.functional.grouped_mm(x, y, offs=offs)
        lib.manual_seed(1)
        out.backward(lib.randn(out.shape))
        made[lib] = [t.tolist() for t in (out.detach(), x.grad, y.grad)]
    for ours, theirs in zip(made[ember], made[torch]):
        torch.testing.assert_close(torch.tensor(ours), torch.tensor(theirs))


def test_statistics_of_batches():
    made = {}
    for lib in (ember, torch):
        lib.manual_seed(0)
        x, mean, var = lib.randn(4, 3, 5), lib.zeros(3), lib.ones(3)
        got = lib.batch_norm_update_stats(x, mean, var, 0.3)
        made[lib] = [t.tolist() for t in (*got, mean, var)]
    torch.testing.assert_close(torch.tensor(made[ember]), torch.tensor(made[torch]))


@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")
@pytest.mark.parametrize("order", ["little", "big", "native"])
@pytest.mark.parametrize("dtype", ["int16", "float32", "float64", "complex64", "bool"])
def test_buffers(dtype, order):
    data = bytes(range(48))
    ours, theirs = (
        lib.UntypedStorage.from_buffer(
            data, order, count=2, offset=8, dtype=getattr(lib, dtype)
        )
        for lib in (ember, torch)
    )
    assert ours.tolist() == theirs.tolist()
    assert ours.short().tolist() == theirs.short().tolist()


def test_short_names_of_dtypes():
    for name, kind in vars(ember._C).items():
        if isinstance(kind, ember.dtype):
            assert kind.abbr == getattr(torch, name).abbr


def test_schemas():
    def schema(lib, tensor):
        def function(
            a: tensor,
            b: tensor | None,
            c: list[int],
            d: Sequence[tensor],
            e: str = "x",
            f: bool = True,
            *,
            g: float | None = None,
        ) -> tuple[tensor, int]: ...

        return lib.library.infer_schema(function, mutates_args={"a"})

    assert schema(ember, ember.Tensor) == schema(torch, torch.Tensor)


def test_contexts_of_functions():
    def run(lib):
        seen = []

        class Both(lib.autograd.Function):
            boxed_grads_call = True
            clear_saved_tensors_on_access = True

            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                seen.append((ctx.name(), ctx.requires_grad, ctx.metadata))
                return x * 2, x * 3

            @staticmethod
            def backward(ctx, grads):
                (x,) = ctx.saved_tensors
                seen.append([g.item() for g in grads])
                for _ in range(2):
                    try:
                        ctx.saved_tensors
                    except RuntimeError as error:
                        seen.append(str(error))
                    ctx.maybe_clear_saved_tensors()
                return grads[0] * x

        x = lib.tensor([3.0], requires_grad=True)
        a, b = Both.apply(x)
        (a + 5 * b).backward()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = Both()
        return seen, x.grad.item(), made.name(), made.next_functions

    assert run(ember) == run(torch)


def test_hooks_of_optimizers():
    def run(lib):
        seen = []
        optimizer = lib.optim.SGD([lib.ones(1, requires_grad=True)], lr=0.1)

        def hook(o, args, kwargs):
            seen.append(([a is o for a in args], kwargs))

        optimizer.register_step_pre_hook(hook)
        optimizer.register_step_post_hook(hook)
        optimizer.step()
        optimizer.step(lambda: 3)
        return seen

    assert run(ember) == run(torch)
