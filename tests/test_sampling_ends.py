"""Draws by rejection end for every parameter, also those that no distribution has."""

import math

import pytest

import ember

VALUES = (math.nan, math.inf, -math.inf, -1.0, 0.0, 1e-45, 0.5, 1e7, 1e30, 3e38)
DEVICES = ("cpu", "opencl") if ember.opencl.is_available() else ("cpu",)


def draw(name: str, a: ember.Tensor, b: ember.Tensor) -> ember.Tensor:
    if name == "binomial":
        return ember.binomial(a, b)
    if name == "von_mises":
        law = ember.distributions.VonMises(b, a, validate_args=False)
        return law.sample()
    return getattr(ember, name)(a)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", [ember.float32, ember.float64], ids=str)
@pytest.mark.parametrize(
    "name", ["binomial", "von_mises", "_standard_gamma", "_sample_dirichlet", "poisson"]
)
def test_a_draw_ends(name, dtype, device):
    if device != "cpu" and dtype == ember.float64:
        pytest.skip("the device may have no float64")
    for a in VALUES:
        for b in (0.0, 1e-30, 0.3, 1.0, math.nan) if name == "binomial" else (0.0,):
            parameters = (ember.full((3,), v, dtype=dtype, device=device) for v in (a, b))
            try:
                found = draw(name, *parameters)
            except RuntimeError:  # refused is as good
                continue
            assert found.shape == (3,)
            if math.isnan(a):
                assert found.isnan().all() or b == 0.0, (a, b)


def test_laws_of_no_concentration_and_of_very_much():
    ember.manual_seed(0)

    def angles(concentration: float) -> ember.Tensor:
        law = ember.distributions.VonMises(ember.tensor(1.0), concentration)
        return law.sample((4000,))

    for tiny in (1e-45, 1e-12):
        assert angles(tiny).cos().mean().abs() < 0.05  # uniform on the circle
    assert abs(angles(1e4).std().item() * 1e2 - 1) < 0.1
    assert (angles(1e30) == 1).all()
