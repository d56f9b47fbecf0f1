"""Memory of the host that a queued copy writes to, and sizes that no device has."""

import pytest

import ember

from .test_runtime import busy


@pytest.mark.parametrize(
    "change",
    [
        lambda t: t.untyped_storage().resize_(0),
        lambda t: t.resize_(1024, 1024),
        lambda t: t.set_(),
        lambda t: setattr(t, "data", ember.zeros(2)),
        lambda t: t.share_memory_(),
    ],
)
def test_host_memory_stays_while_a_copy_writes_to_it(change):
    x = busy(ember.eye(256, device="opencl"))
    out = ember.empty(256, 256)
    out.copy_(x, non_blocking=True)
    try:
        change(out)
    except RuntimeError as error:
        assert "not resizable" in str(error)
    taken = [ember.full((256, 256), 3.0) for _ in range(4)]
    ember.opencl.synchronize()
    assert all((t == 3).all() for t in taken)


@pytest.mark.parametrize("shape", [(2**62, 4), (2**61,), (2**44,), (-1,)])
def test_sizes_are_checked(shape):
    for make in (
        lambda: ember.zeros(shape, device="opencl"),
        lambda: ember.zeros(shape, out=ember.ones(3, device="opencl")),
        lambda: ember.ones(3, device="opencl").resize_(shape),
    ):
        with pytest.raises(RuntimeError):
            make()


def test_a_resized_storage_keeps_what_fits():
    t = ember.arange(4.0, device="opencl")
    t.untyped_storage().resize_(8)
    t.untyped_storage().resize_(16)
    assert t[:2].tolist() == [0, 1]
