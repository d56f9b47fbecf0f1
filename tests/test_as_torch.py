"""`python -m ember.as_torch`: programs, and environments, in which torch is ember."""

import os
import subprocess
import sys
import textwrap
import venv
from pathlib import Path

import pytest

import ember

ROOT = str(Path(ember.__file__).parent.parent)


def run(tmp_path, program, *arguments):
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(program))
    command = [sys.executable, "-m", "ember.as_torch", str(script), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def test_a_program_for_torch_runs(tmp_path):
    result = run(
        tmp_path,
        """
        import sys
        import torch
        import torch.nn as nn
        import torch.nn.functional as F
        from torch.utils.data import DataLoader, TensorDataset
        from torch import Tensor, optim

        torch.backends.cudnn.benchmark = True
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        torch.manual_seed(int(sys.argv[1]))
        model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2)).to(device)
        data = TensorDataset(torch.randn(64, 4), torch.randint(0, 2, (64,)))
        optimizer = optim.AdamW(model.parameters(), lr=1e-2)
        for epoch in range(3):
            for x, y in DataLoader(data, batch_size=16, shuffle=True):
                optimizer.zero_grad()
                loss = F.cross_entropy(model(x.to(device)), y.to(device))
                loss.backward()
                optimizer.step()
        assert type(loss).__module__ == "torch"
        assert isinstance(loss, Tensor) and torch.__version__.startswith("2.")
        print("done", __name__)
        """,
        "1",
    )
    assert result.stdout == "done __main__\n", result.stderr


def test_what_is_missing_is_named(tmp_path):
    result = run(tmp_path, "import torch\ntorch.no_such_thing(1)\n")
    assert "torch.no_such_thing is not part of ember" in result.stderr
    result = run(tmp_path, "import torch.no_such_module\n")
    assert "No module named 'torch.no_such_module'" in result.stderr
    assert result.returncode == 1


def test_processes_started_afresh_have_it_too(tmp_path):
    result = run(
        tmp_path,
        """
        import torch
        import torch.multiprocessing as mp

        def work(rank, shared):
            shared[rank] = rank + 1.0

        if __name__ == "__main__":
            shared = torch.zeros(2).share_memory_()
            mp.spawn(work, args=(shared,), nprocs=2)
            print(shared.tolist())
        """,
    )
    assert result.stdout == "[1.0, 2.0]\n", result.stderr


def test_as_a_module_and_without_arguments(tmp_path):
    command = [sys.executable, "-m", "ember.as_torch"]
    nothing = subprocess.run(command, capture_output=True, text=True)
    assert nothing.returncode == 2
    assert "script.py" in nothing.stdout
    (tmp_path / "program.py").write_text("import torch, sys; print(sys.argv[1:])")
    command += ["-m", "program", "x"]
    result = subprocess.run(
        command,
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": ROOT},
    )
    assert result.stdout == "['x']\n", result.stderr


def test_a_program_on_the_command_line():
    code = "import sys, torch; print(sys.argv, torch.ones(2).tolist(), __name__)"
    command = [sys.executable, "-m", "ember.as_torch", "-c", code, "x"]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.stdout == "['-c', 'x'] [1.0, 1.0] __main__\n", result.stderr


WHAT_LIBRARIES_ASK = """
import importlib.metadata, importlib.util
assert importlib.util.find_spec("torch") is not None
version = importlib.metadata.version("torch")
import torch
assert torch.__version__ == version and torch.__version__ >= (2, 6)
assert torch.__version__ > "2.9" and torch.version.__version__ == version
assert torch.version.cuda is None and torch.__spec__.name == "torch"
assert torch.__file__ and importlib.util.find_spec("torch").origin
assert importlib.util.find_spec("torch.nn").name == "torch.nn"
assert importlib.util.find_spec("torch.no_such_module") is None
import torch.nn, ember
assert torch.nn is ember.nn and torch.nn.__spec__ is not None
print("ok")
"""


def test_libraries_find_a_version_and_specs(tmp_path):
    result = run(tmp_path, WHAT_LIBRARIES_ASK)
    assert result.stdout == "ok\n", result.stderr


def test_children_of_subprocess_have_it_too(tmp_path):
    program = f"""
        import subprocess, sys
        code = {WHAT_LIBRARIES_ASK!r}
        print(subprocess.check_output([sys.executable, "-c", code], text=True))
        """
    result = run(tmp_path, program)
    assert result.stdout == "ok\n\n", result.stderr


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """The Python of a fresh environment that can import ember."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder)
    return folder / "bin" / "python"


def inside(python, *arguments):
    variables = {**os.environ, "PYTHONPATH": ROOT}
    variables.pop("EMBER_AS_TORCH", None)
    command = [str(python), *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=variables)


def test_an_environment_in_which_torch_is_ember(environment):
    command = ("-m", "ember.as_torch")
    assert "not installed" in inside(environment, *command, "--status").stdout
    for _ in range(2):  # the second time replaces the first
        assert "torch is ember" in inside(environment, *command, "--install").stdout
    assert "torch is ember" in inside(environment, *command, "--status").stdout
    result = inside(environment, "-c", WHAT_LIBRARIES_ASK)
    assert result.stdout == "ok\n", result.stderr
    launcher = environment.with_name("torchrun")
    for start in ([str(launcher)], [str(environment), "-m", "torch.distributed.run"]):
        given = {**os.environ, "PYTHONPATH": ROOT}
        told = subprocess.run([*start, "--help"], capture_output=True, env=given)
        assert b"--nproc" in told.stdout, told.stderr
    assert "removed" in inside(environment, *command, "--uninstall").stdout
    assert not launcher.exists()
    assert "not installed" in inside(environment, *command, "--status").stdout
    left = list(environment.parents[1].glob("lib/*/site-packages/torch*"))
    assert not left


def test_where_torch_is_installed_it_is_left_alone(environment):
    site = next(environment.parents[1].glob("lib/*/site-packages"))
    theirs = site / "torch" / "__init__.py"
    theirs.parent.mkdir()
    theirs.write_text("tensor = list\n")
    result = inside(environment, "-m", "ember.as_torch", "--install")
    assert result.returncode == 1 and "PyTorch itself is installed" in result.stderr
    assert (
        "nothing to remove"
        in inside(environment, "-m", "ember.as_torch", "--uninstall").stdout
    )
    assert theirs.exists()
    theirs.unlink()
    theirs.parent.rmdir()


def test_without_ember_the_package_says_so(environment):
    assert inside(environment, "-m", "ember.as_torch", "--install").returncode == 0
    alone = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH",)}
    command = [str(environment), "-I", "-c", "import torch"]
    result = subprocess.run(command, capture_output=True, text=True, env=alone)
    assert "pip uninstall torch" in result.stderr
    inside(environment, "-m", "ember.as_torch", "--uninstall")
