"""The profiler: what it records, its schedule, its table and traces."""

import gzip
import json
import threading

import pytest

import ember
from ember import nn
from ember.profiler import (
    ProfilerAction,
    profile,
    record_function,
    schedule,
    tensorboard_trace_handler,
)


def test_ops_operators_and_backward_are_recorded_in_order():
    w = ember.ones(3, 3, requires_grad=True)
    with profile() as prof:
        ((w @ w) * 2).relu().sum().backward()
    names = [event.name for event in prof.events()]
    assert names[:4] == ["matmul", "mul", "relu", "sum"]
    assert [n for n in names[4:] if "Mul" in n or "Relu" in n or "Mm" in n] == [
        "ReluBackward0",
        "MulBackward0",
        "MmBackward0",
    ]
    assert names[-1] == "AccumulateGrad"


def test_nothing_is_recorded_outside():
    x = ember.ones(2)
    with profile() as prof:
        pass
    x.exp()
    assert len(prof.events()) == 0
    with record_function("outside"):
        x.exp()
    with profile() as prof:
        x.exp()
    assert [e.name for e in prof.events()] == ["exp"]


def test_regions_nest_and_self_time_leaves_children_out():
    x = ember.randn(50, 50)
    with profile() as prof, record_function("outer"):
        x.exp()
        with record_function("inner"):
            x.log()
    outer, exp, inner, log = prof.events()
    assert [e.name for e in (outer, exp, inner, log)] == [
        "outer",
        "exp",
        "inner",
        "log",
    ]
    assert outer.children == [exp, inner]
    assert inner.children == [log]
    assert log.parent is inner
    rest = outer.cpu_time_total - exp.cpu_time_total - inner.cpu_time_total
    assert outer.self_cpu_time_total == pytest.approx(rest)


def test_shapes_memory_and_stack():
    x = ember.zeros(4, 8)
    with profile(record_shapes=True, profile_memory=True, with_stack=True) as prof:
        y = x.expand(4, 8).reshape(8, 4).add(1)
        z = ember.cat([x, x])
    add = next(e for e in prof.events() if e.name == "add")
    assert add.input_shapes == [[8, 4]]
    assert add.cpu_memory_usage == y.untyped_storage().nbytes()
    assert "test_profiler.py" in add.stack[0]
    assert add.stack[0].endswith("test_shapes_memory_and_stack")
    cat = next(e for e in prof.events() if e.name == "cat")
    assert cat.input_shapes == [[4, 8], [4, 8]]
    assert z.shape == (8, 8)


def test_averages_and_table():
    x = ember.ones(2)
    with profile(record_shapes=True) as prof:
        for _ in range(3):
            x.exp()
        ember.ones(3).exp()
    averages = {a.key: a for a in prof.key_averages()}
    assert averages["exp"].count == 4
    by_shape = prof.key_averages(group_by_input_shape=True)
    assert sorted(a.count for a in by_shape if a.key == "exp") == [1, 3]
    table = prof.key_averages().table(sort_by="cpu_time_total", row_limit=1)
    assert "Self CPU time total" in table
    assert len(table.splitlines()) == 6
    with pytest.raises(ValueError, match="cannot sort by 'colour'"):
        prof.key_averages().table(sort_by="colour")


def test_schedule_and_trace_handler(tmp_path):
    ready = []
    plan = schedule(wait=1, warmup=1, active=2, repeat=2)
    with profile(
        schedule=plan, on_trace_ready=lambda p: ready.append(len(p.events()))
    ) as prof:
        for _ in range(10):
            ember.ones(2).exp()
            prof.step()
    assert len(ready) == 2
    assert plan(0) is ProfilerAction.NONE
    assert plan(3) is ProfilerAction.RECORD_AND_SAVE
    with pytest.raises(ValueError, match="active must be positive"):
        schedule(wait=0, warmup=0, active=0)

    with profile(on_trace_ready=tensorboard_trace_handler(str(tmp_path))):
        ember.ones(2).exp()
    (file,) = tmp_path.glob("*.pt.trace.json")
    assert {
        e["name"] for e in json.loads(file.read_text(encoding="utf-8"))["traceEvents"]
    } == {
        "ones",
        "exp",
        "memory",
    }


def test_chrome_trace(tmp_path):
    with profile(profile_memory=True, with_stack=True) as prof:
        kept = ember.ones(100).exp()
    prof.export_chrome_trace(tmp_path / "trace.json.gz")
    trace = json.loads(gzip.decompress((tmp_path / "trace.json.gz").read_bytes()))
    spans = [e for e in trace["traceEvents"] if e["ph"] == "X"]
    assert [e["name"] for e in spans] == ["ones", "exp"]
    assert all(e["dur"] >= 0 and e["ts"] >= 0 for e in spans)
    used = [e["args"]["bytes"] for e in trace["traceEvents"] if e["ph"] == "C"]
    assert max(used) - min(used) >= kept.untyped_storage().nbytes()
    prof.export_stacks(tmp_path / "stacks.txt")
    assert "test_chrome_trace" in (tmp_path / "stacks.txt").read_text(encoding="utf-8")


def test_threads_are_told_apart():
    def work():
        ember.ones(5).exp()

    with profile() as prof:
        work()
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    threads = {e.thread for e in prof.events() if e.name == "exp"}
    assert len(threads) == 2


def test_an_op_that_fails_ends_its_span():
    with profile() as prof, pytest.raises(RuntimeError):
        ember.ones(2, 3) @ ember.ones(2, 3)
    assert [e.name for e in prof.events()][-1] == "matmul"


def test_two_profiles_at_once_are_refused():
    with (
        profile(),
        pytest.raises(RuntimeError, match="another profile"),
        profile(),
    ):
        pass
    with profile() as prof:
        ember.ones(1)
    assert len(prof.events()) == 1


def test_pictures(tmp_path):
    from ember.utils.viz import save_graph

    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    loss = model(ember.randn(5, 4)).sum()
    save_graph(loss, tmp_path / "graph.svg", model.named_parameters())
    text = (tmp_path / "graph.svg").read_text(encoding="utf-8")
    assert "2.weight" in text
    assert "ReluBackward" in text
    with pytest.raises(ValueError, match="gradients"):
        save_graph(ember.ones(2), tmp_path / "none.svg")

    with profile(profile_memory=True) as prof:
        loss.backward()
    prof.export_memory_timeline(str(tmp_path / "memory.svg"))
    assert "LinearBackward0" in (tmp_path / "memory.svg").read_text(encoding="utf-8")
    with profile() as prof:
        ember.ones(3)
    with pytest.raises(ValueError, match="profile_memory"):
        prof.export_memory_timeline(str(tmp_path / "none.svg"))


def test_steps_of_optimizers_are_in_profiles():
    optimizer = ember.optim.SGD([ember.ones(2, requires_grad=True)], lr=0.1)
    optimizer.param_groups[0]["params"][0].grad = ember.ones(2)
    with profile() as prof:
        optimizer.step()
        optimizer.zero_grad()
    names = [event.name for event in prof.events()]
    assert names[0] == "Optimizer.step#SGD.step"
    assert names[-1] == "Optimizer.zero_grad#SGD.zero_grad"
    assert len(names) > 2 and prof.events()[1].parent is prof.events()[0]


def test_steps_are_counted_once():
    from ember.autograd.profiler import KinetoStepTracker as Steps

    start = Steps.current_step()
    Steps.init_step_count("one")
    Steps.init_step_count("other")
    for _ in range(2):
        Steps.increment_step("one")
        Steps.increment_step("other")
    assert Steps.current_step() == start + 2
    assert Steps.erase_step_count("one") and Steps.erase_step_count("other")
    assert not Steps.erase_step_count("other")


def test_records_in_an_interval():
    from ember.autograd.profiler import EnforceUnique, MemRecordsAcc

    class Record:
        def __init__(self, time):
            self.time = time

        def start_ns(self):
            return self.time

    records = MemRecordsAcc([(Record(t), t) for t in (5, 1, 9)])
    assert [r[1] for r in records.in_interval(1, 5)] == [1, 5]
    assert [r[1] for r in records.in_interval(2, 9)] == [5, 9]
    unique = EnforceUnique()
    unique.see("a")
    with pytest.raises(RuntimeError, match="duplicate"):
        unique.see("a")


def test_the_configuration_of_a_profile():
    from ember.autograd.profiler import ProfilerState, profile as old

    config = old(with_stack=True, profile_memory=True).config()
    assert config.state is ProfilerState.CPU and int(config.state) == 1
    assert config.with_stack and config.profile_memory
    assert not config.report_input_shapes
    assert old(enabled=False).config().state is ProfilerState.Disabled
    assert ember.autograd.ProfilerState is ProfilerState
