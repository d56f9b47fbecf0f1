"""NumPy is an extra: nothing but NumPy's own arrays may need it."""

import os
import subprocess
import sys
import textwrap

import pytest

PROGRAMS = {
    "tensors": """
        x = ember.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
        (x @ x).sum().backward()
        assert x.grad.tolist() == [[7, 11], [9, 13]]
        assert repr(ember.arange(2)) == "tensor([0, 1])"
        assert ember.linalg.qr(x)[0].shape == (2, 2)
        assert ember.fft.fft(ember.ones(4)).real.tolist() == [4, 0, 0, 0]
        q = ember.nn.init.orthogonal_(ember.empty(4, 3, dtype=ember.float64))
        assert (q.T @ q - ember.eye(3)).abs().max() < 1e-12
    """,
    "arrays": """
        x = ember.ones(2)
        for convert in (x.numpy, x.__array__):
            try:
                convert()
            except RuntimeError as e:
                assert "pip install numpy" in str(e)
            else:
                raise AssertionError
    """,
    "loader": """
        from ember.utils.data import DataLoader, TensorDataset
        from ember.utils.data._utils import collate
        data = TensorDataset(ember.arange(8.0), ember.arange(8))
        rows = [y.tolist() for x, y in DataLoader(data, 4, num_workers=2)]
        assert rows == [[0, 1, 2, 3], [4, 5, 6, 7]]
    """,
    "files": """
        ember.save({"w": ember.arange(3.0)}, "a.pt")
        assert ember.load("a.pt")["w"].tolist() == [0, 1, 2]
        mapped = ember.from_file("raw", shared=True, size=3, dtype=ember.int32)
        mapped.fill_(7)
        assert ember.from_file("raw", size=3, dtype=ember.int32).tolist() == [7, 7, 7]
    """,
    "trainer": """
        from ember import nn
        from ember.utils.data import DataLoader, TensorDataset
        from ember.utils.tensorboard import SummaryWriter
        from ember.utils.trainer import Trainer
        model = nn.Linear(2, 1)
        sgd = ember.optim.SGD(model.parameters(), lr=0.1)
        x = ember.randn(16, 2)
        data = DataLoader(TensorDataset(x, x.sum(1, keepdim=True)), 4)
        Trainer(model, sgd, nn.functional.mse_loss, out="out").fit(data, epochs=2)
        import os
        assert open("out/metrics.csv").read().startswith("epoch")
        assert not os.path.exists("out/loss.png")  # as there is no matplotlib
        with SummaryWriter("logs") as writer:
            writer.add_scalar("loss", ember.tensor([0.5]), 1)
            writer.add_histogram("weights", model.weight, 1)
            writer.add_images("images", ember.rand(2, 3, 4, 4))
    """,
    "modules": """
        import ember.legacy, ember.distributions, ember.func, ember.sparse, ember.masked
        import ember.utils.benchmark, ember.utils.viz, ember.profiler, ember.testing
        import ember.multiprocessing, ember.amp, ember.utils.dlpack
    """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_program(program, tmp_path):
    # What `import numpy` does where it is not installed, in children as well.
    absent = tmp_path / "absent" / "numpy.py"
    absent.parent.mkdir()
    absent.write_text("raise ModuleNotFoundError(\"No module named 'numpy'\")\n")
    paths = [str(absent.parent), os.environ["PYTHONPATH"]]
    done = subprocess.run(
        [sys.executable, "-c", "import ember\n" + textwrap.dedent(program)],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
