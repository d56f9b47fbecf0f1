"""Checkpoints that go from ember to torch and back."""

import io
import pickle
import random
import warnings
import zipfile

import numpy as np
import pytest

import ember

torch = pytest.importorskip("torch")

DTYPES = "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64".split()
DTYPES += ["complex64", "complex128", "uint16"]


def make(lib):
    base = lib.arange(12.0)
    state = {str(d): lib.tensor([0, 1, 1]).to(getattr(lib, d)) for d in DTYPES}
    state["view"] = base[2:8].view(2, 3).t()
    state["base"] = base
    state["nested"] = [{"lr": 0.1}, (lib.ones(2, requires_grad=True), None, b"x")]
    state["parameter"] = lib.nn.Parameter(lib.ones(2, 2))
    state["kinds"] = (lib.float32, lib.Size([2]), lib.device("cpu"))
    return state


def check(got, lib):
    want = make(lib)
    assert list(got) == list(want)
    for name, w in want.items():
        if isinstance(w, lib.Tensor):
            g = got[name]
            assert g.dtype == w.dtype and g.stride() == w.stride()
            assert g.storage_offset() == w.storage_offset()
            assert g.requires_grad == w.requires_grad
            assert np.array_equal(np.array(g.tolist()), np.array(w.tolist()))
    assert type(got["parameter"]) is lib.nn.Parameter
    assert got["nested"][1][0].requires_grad and got["nested"][0] == {"lr": 0.1}
    assert got["kinds"] == want["kinds"]
    got["view"][0, 0] = 77
    assert got["base"][2].item() == 77


@pytest.mark.parametrize("weights_only", [True, False])
@pytest.mark.parametrize(("writer", "reader"), [(ember, torch), (torch, ember)])
def test_interchange(tmp_path, writer, reader, weights_only):
    path = tmp_path / "a.pt"
    writer.save(make(writer), path)
    check(reader.load(path, weights_only=weights_only), reader)


def sparse(lib):
    x = lib.tensor([[0.0, 2, 0, 0], [3, 0, 0, 4]])
    return {
        "coo": x.to_sparse(),
        "repeated": lib.sparse_coo_tensor([[1, 1, 0]], [1.0, 2, 3], (3,)),
        "rows": x.to_sparse(1),
        "csr": x.to_sparse_csr(),
        "csc": x.to_sparse_csc(),
        "bsr": x.to_sparse_bsr((2, 2)),
    }


@pytest.mark.parametrize(("writer", "reader"), [(ember, torch), (torch, ember)])
@pytest.mark.filterwarnings("ignore:Sparse")
def test_interchange_of_sparse_tensors(tmp_path, writer, reader):
    path = tmp_path / "a.pt"
    writer.save(sparse(writer), path)
    got, want = reader.load(path), sparse(reader)
    assert {name: repr(t) for name, t in got.items()} == {
        name: repr(t) for name, t in want.items()
    }


def test_torchs_older_format(tmp_path):
    path = tmp_path / "a.pt"
    torch.save(make(torch), path, _use_new_zipfile_serialization=False)
    for weights_only in (True, False):
        check(ember.load(path, weights_only=weights_only), ember)


def test_torchs_oldest_format(tmp_path):
    from tests import checkpoints

    path = tmp_path / "a.pt"
    path.write_bytes(checkpoints.tarred())
    ours, theirs = ember.load(path), torch.load(path, weights_only=False)
    assert [t.tolist() for t in ours] == [t.tolist() for t in theirs]


@pytest.mark.parametrize(("writer", "reader"), [(ember, torch), (torch, ember)])
def test_memory_mapped_interchange(tmp_path, writer, reader):
    path = tmp_path / "a.pt"
    writer.save(make(writer), path)
    check(reader.load(path, mmap=True), reader)


@pytest.mark.parametrize(("writer", "reader"), [(ember, torch), (torch, ember)])
def test_shapes_and_strides(tmp_path, writer, reader):
    path = tmp_path / "a.pt"

    def tensors(lib):
        x = lib.arange(24.0).view(2, 3, 4)
        return [
            x,
            x.permute(2, 0, 1),
            x[:, 1],
            x[..., ::2],
            x[0].expand(5, 3, 4),
            lib.zeros(0, 3),
            lib.tensor(3.5),
            x.view(-1).as_strided((3, 3), (1, 1), 2),
            lib.ones(2, 3, 4, 5).to(memory_format=lib.channels_last),
            x.to(lib.complex64).conj(),
            x.clone().untyped_storage(),
        ]

    writer.save(tensors(writer), path)
    for got, want in zip(reader.load(path), tensors(reader), strict=True):
        if hasattr(want, "stride"):
            assert got.shape == want.shape and got.dtype == want.dtype
            assert got.resolve_conj().tolist() == want.resolve_conj().tolist()
            if not want.is_conj():
                assert got.stride() == want.stride()
        else:
            assert got.tolist() == want.tolist()


NETWORKS = {
    "Linear": (3, 2),
    "Conv1d": (3, 4, 3),
    "Conv3d": (2, 4, 3),
    "ConvTranspose2d": (3, 4, 3),
    "ConvTranspose3d": (2, 4, 3),
    "BatchNorm1d": (4,),
    "BatchNorm3d": (4,),
    "InstanceNorm1d": (4, 1e-5, 0.1, True, True),
    "InstanceNorm2d": (4, 1e-5, 0.1, True, True),
    "InstanceNorm3d": (4, 1e-5, 0.1, True, True),
    "RMSNorm": (4,),
    "RNN": (3, 4, 2),
    "RNNCell": (3, 4),
    "LSTMCell": (3, 4),
    "Transformer": (8, 2, 1, 1, 16),
    "TransformerDecoderLayer": (8, 2, 16),
    "AdaptiveLogSoftmaxWithLoss": (8, 20, [5, 10]),
    "CrossEntropyLoss": (),
    "Conv2d": (3, 4, 3),
    "ConvTranspose1d": (3, 4, 3),
    "BatchNorm2d": (4,),
    "LayerNorm": (4,),
    "GroupNorm": (2, 4),
    "Embedding": (5, 3),
    "EmbeddingBag": (5, 3),
    "LSTM": (3, 4, 2),
    "GRU": (3, 4),
    "GRUCell": (3, 4),
    "MultiheadAttention": (8, 2),
    "TransformerEncoderLayer": (8, 2, 16),
    "PReLU": (),
    "Bilinear": (2, 3, 4),
}


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize(("writer", "reader"), [(ember, torch), (torch, ember)])
def test_states_of_modules(tmp_path, writer, reader, name):
    path = tmp_path / "a.pt"
    writer.manual_seed(0)
    state = getattr(writer.nn, name)(*NETWORKS[name]).state_dict()
    writer.save(state, path)
    reader.manual_seed(1)
    module = getattr(reader.nn, name)(*NETWORKS[name])
    loaded = reader.load(path)
    assert type(loaded) is type(state) and loaded._metadata == state._metadata
    module.load_state_dict(loaded)
    got = module.state_dict()
    assert list(got) == list(state)
    for key, value in state.items():
        assert np.array_equal(got[key].numpy(), value.numpy())


OPTIMIZERS = """
    SGD Adam AdamW Adagrad Adadelta RMSprop Adamax NAdam RAdam ASGD Rprop Adafactor Muon
    LBFGS SparseAdam
    """


@pytest.mark.parametrize("name", OPTIMIZERS.split())
@pytest.mark.parametrize(("writer", "reader"), [(ember, torch), (torch, ember)])
def test_states_of_optimizers(tmp_path, writer, reader, name):
    """The run that goes on in the other library ends where the first would have."""
    path = tmp_path / "a.pt"
    options = {"lr": 0.01} | ({"momentum": 0.9} if name == "SGD" else {})

    def start(lib):
        w = lib.nn.Parameter(lib.arange(6.0).view(2, 3) / 6)
        return w, getattr(lib.optim, name)([w], **options)

    def train(lib, w, optimizer, steps):
        def closure():
            optimizer.zero_grad()
            loss = ((w - 1) ** 2 * lib.arange(1.0, 7.0).view(2, 3)).sum()
            loss.backward()
            if name == "SparseAdam":
                w.grad = w.grad.to_sparse(1)
            return loss

        for _ in range(steps):
            optimizer.step(closure)
        return w.detach().numpy()

    w, optimizer = start(writer)
    train(writer, w, optimizer, 3)
    writer.save({"w": w, "optimizer": optimizer.state_dict()}, path)
    want = train(writer, w, optimizer, 3)
    loaded = reader.load(path)
    w, optimizer = start(reader)
    with reader.no_grad():
        w.copy_(loaded["w"])
    optimizer.load_state_dict(loaded["optimizer"])
    assert np.allclose(train(reader, w, optimizer, 3), want, rtol=1e-5, atol=1e-6)


def test_whole_modules():
    """Modules saved whole name torch's classes, which here are ember's."""
    import io

    data = io.BytesIO()
    torch.save(torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU()), data)
    data.seek(0)
    with pytest.raises(Exception, match="not an allowed global"):
        ember.load(data)


@pytest.mark.parametrize("writer, reader", [(ember, torch), (torch, ember)])
def test_files_without_data_and_without_checksums(tmp_path, writer, reader):
    path = tmp_path / "empty.pt"
    with writer.serialization.skip_data():
        writer.save({"x": writer.arange(5.0)}, path)
    made = reader.load(path)["x"]
    assert made.shape == (5,) and made.abs().sum() == 0
    before = writer.serialization.get_crc32_options()
    writer.serialization.set_crc32_options(False)
    try:
        writer.save({"x": writer.arange(5.0)}, path)
    finally:
        writer.serialization.set_crc32_options(before)
    assert reader.load(path)["x"].tolist() == [0, 1, 2, 3, 4]


def zipped(records: list[tuple[str, bytes]], method: int = 0) -> bytes:
    out = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(out, "w", method) as z:
        warnings.simplefilter("ignore")  # about names that occur twice
        for name, data in records:
            z.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), data, method)
    return out.getvalue()


def loaded(lib, data: bytes):
    try:
        return lib.load(io.BytesIO(data))
    except RuntimeError:
        return "refused"


@pytest.mark.parametrize("seed", range(60))
def test_of_records_of_one_name_the_same_one_counts(seed):
    draw = random.Random(seed)
    cases = ["data.pkl", "data.pkl", "DATA.PKL", "Data.pkl"]
    records = [("a/version", b"3\n"), ("a/byteorder", b"little")]
    records += [(f"a/{chr(97 + draw.randrange(26))}", b"") for _ in range(seed % 7)]
    for i in range(draw.randrange(1, 9)):
        at = draw.randrange(len(records) + 1)
        records.insert(at, (f"a/{draw.choice(cases)}", pickle.dumps(i, 2)))
    data = zipped(records, draw.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED]))
    assert loaded(ember, data) == loaded(torch, data)
    unsafe = ember.serialization.get_unsafe_globals_in_checkpoint(io.BytesIO(data))
    assert unsafe == []


def test_of_two_archives_in_a_file_the_same_one_counts():
    def one(value):
        record = ("a/data.pkl", pickle.dumps(value, 2))
        return zipped([record, ("a/version", b"3\n")])

    a, b, longer = one(1), one(2), one([3] * 100)
    for data in (
        a + b,
        a + longer,
        longer + a,
        a + b"junk",
        a + b"j" * 70_000,
        b"PK\3\4" + a,
        a[:-1],
    ):
        assert loaded(ember, data) == loaded(torch, data)
    for name in ("data.pkl", "a/b/data.pkl", "/data.pkl"):
        data = zipped([(name, pickle.dumps(1, 2)), ("version", b"3\n")])
        assert loaded(ember, data) == loaded(torch, data)


@pytest.mark.parametrize("protocol", [2, 4])
def test_unsafe_names_are_those_of_torch(protocol):
    from fractions import Fraction

    file = io.BytesIO()
    torch.save([Fraction(1, 2), torch.ones(2)], file, pickle_protocol=protocol)
    data = file.getvalue()
    got = ember.serialization.get_unsafe_globals_in_checkpoint(io.BytesIO(data))
    assert got == ["fractions.Fraction"]
    if protocol == 2:
        find = torch.serialization.get_unsafe_globals_in_checkpoint
        assert got == find(io.BytesIO(data))
    for lib in (ember, torch):
        find = lib.serialization.get_unsafe_globals_in_checkpoint
        with pytest.raises(ValueError, match="Expected input to be a checkpoint"):
            find(io.BytesIO(pickle.dumps(1)))
