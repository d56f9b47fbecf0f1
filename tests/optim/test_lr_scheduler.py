"""Learning-rate schedulers: the rates they set."""

import math
import warnings

import pytest

import ember
from ember import optim
from ember.optim import lr_scheduler as S


def sgd(lr=1.0, **options):
    return optim.SGD([ember.nn.Parameter(ember.ones(1))], lr=lr, **options)


def rates(make, steps=6, **options):
    optimizer = sgd(**options)
    scheduler = make(optimizer)
    found = [optimizer.param_groups[0]["lr"]]
    for _ in range(steps - 1):
        optimizer.step()
        scheduler.step()
        found.append(optimizer.param_groups[0]["lr"])
    return found


@pytest.mark.parametrize(
    ("make", "want"),
    [
        (lambda o: S.StepLR(o, 2, 0.1), [1, 1, 0.1, 0.1, 0.01, 0.01]),
        (lambda o: S.MultiStepLR(o, [1, 4], 0.5), [1, 0.5, 0.5, 0.5, 0.25, 0.25]),
        (lambda o: S.ExponentialLR(o, 0.5), [1, 0.5, 0.25, 0.125, 0.0625, 0.03125]),
        (lambda o: S.ConstantLR(o, 0.5, 2), [0.5, 0.5, 1, 1, 1, 1]),
        (lambda o: S.LinearLR(o, 0.5, 1, 4), [0.5, 0.625, 0.75, 0.875, 1, 1]),
        (lambda o: S.PolynomialLR(o, 4), [1, 0.75, 0.5, 0.25, 0, 0]),
        (lambda o: S.LambdaLR(o, lambda e: 1 / (1 + e)), [1 / n for n in range(1, 7)]),
        (lambda o: S.MultiplicativeLR(o, lambda e: 0.5), [0.5**n for n in range(6)]),
        (
            lambda o: S.CosineAnnealingLR(o, 4),
            [(1 + math.cos(math.pi * n / 4)) / 2 for n in range(6)],
        ),
        (
            lambda o: S.CosineAnnealingWarmRestarts(o, 3),
            [1, 0.75, 0.25, 1, 0.75, 0.25],
        ),
        (
            lambda o: S.CyclicLR(o, 0, 1, 2, cycle_momentum=False),
            [0, 0.5, 1, 0.5, 0, 0.5],
        ),
        (
            lambda o: S.SequentialLR(
                o, [S.ConstantLR(o, 0.1, 9), S.ExponentialLR(o, 0.5)], [2]
            ),
            [0.1, 0.1, 1, 0.5, 0.25, 0.125],
        ),
        (
            lambda o: S.ChainedScheduler(
                [S.ConstantLR(o, 0.5, 2), S.ExponentialLR(o, 0.5)]
            ),
            [0.5, 0.25, 0.25, 0.125, 0.0625, 0.03125],
        ),
    ],
)
def test_rates(make, want):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert rates(make) == pytest.approx(want, abs=1e-12)


def test_one_cycle_moves_momentum_too():
    optimizer = sgd(momentum=0.9)
    scheduler = S.OneCycleLR(optimizer, 1.0, total_steps=10)
    group = optimizer.param_groups[0]
    assert group["lr"] == pytest.approx(0.04) and group["momentum"] == 0.95
    found = []
    for _ in range(9):
        optimizer.step()
        scheduler.step()
        found.append(group["lr"])
    assert max(found) == pytest.approx(1.0) and found[-1] == pytest.approx(4e-6)
    assert group["momentum"] == pytest.approx(0.95)
    optimizer.step()
    with pytest.raises(ValueError, match="Tried to step"):
        for _ in range(3):
            scheduler.step()


def test_plateau():
    optimizer = sgd()
    scheduler = S.ReduceLROnPlateau(optimizer, patience=1, cooldown=1, min_lr=0.05)
    for loss in (1.0, 0.9, 0.9, 0.9):
        scheduler.step(ember.tensor(loss))
    assert scheduler.get_last_lr() == [0.1]
    for loss in (0.9, 0.9, 0.9, 0.9):
        scheduler.step(loss)
    assert scheduler.get_last_lr() == [0.05]
    with pytest.raises(ValueError, match="mode most is unknown"):
        S.ReduceLROnPlateau(optimizer, "most")


def test_state_round_trip():
    a, b = sgd(), sgd()
    first, second = S.StepLR(a, 2), S.StepLR(b, 3)
    a.step()
    first.step()
    second.load_state_dict(first.state_dict())
    assert second.last_epoch == 1 and second.step_size == 2
    assert "optimizer" not in first.state_dict()


def test_wrong_order_warns():
    optimizer = sgd()
    scheduler = S.StepLR(optimizer, 1)
    with pytest.warns(UserWarning, match="before `optimizer.step"):
        scheduler.step()


def test_tensor_rate_keeps_its_identity():
    lr = ember.tensor(1.0)
    optimizer = sgd(lr=lr)
    scheduler = S.ExponentialLR(optimizer, 0.5)
    optimizer.step()
    scheduler.step()
    assert optimizer.param_groups[0]["lr"] is lr and lr.item() == 0.5


def test_averaged_model():
    from ember.optim.swa_utils import AveragedModel, get_ema_avg_fn

    model = ember.nn.Linear(1, 1, bias=False)
    mean = AveragedModel(model)
    ema = AveragedModel(model, avg_fn=get_ema_avg_fn(0.75))
    for value in (1.0, 2.0, 6.0):
        with ember.no_grad():
            model.weight.fill_(value)
        mean.update_parameters(model)
        ema.update_parameters(model)
    assert mean.module.weight.item() == pytest.approx(3.0)
    assert ema.module.weight.item() == pytest.approx(0.75 * 1.25 + 0.25 * 6)
    assert mean.n_averaged.item() == 3


def test_a_milestone_at_the_start_leaves_the_first_scheduler_out():
    optimizer = ember.optim.SGD([ember.nn.Parameter(ember.ones(1))], lr=1.0)
    parts = [S.ConstantLR(optimizer, 0.5, 3), S.ExponentialLR(optimizer, 0.5)]
    scheduler = S.SequentialLR(optimizer, parts, milestones=[0])
    seen = [scheduler.get_last_lr()[0]]
    for _ in range(2):
        optimizer.step()
        scheduler.step()
        seen.append(scheduler.get_last_lr()[0])
    assert seen == [1.0, 0.5, 0.25]
