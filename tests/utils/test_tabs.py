"""TensorBoard's tabs beyond curves and pictures; what notebooks show."""

import struct
import zlib
from itertools import pairwise

import pytest

import ember
from ember import nn
from ember.utils.tensorboard import SummaryWriter


def fields(message: bytes) -> dict[int, list]:
    """The fields of a message by their numbers."""
    found: dict[int, list] = {}
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(message):
        key = varint()
        if key & 7 == 0:
            value = varint()
        elif key & 7 == 2:
            size = varint()
            value = message[at : at + size]
            at += size
        else:
            size = {1: 8, 5: 4}[key & 7]
            value = message[at : at + size]
            at += size
        found.setdefault(key >> 3, []).append(value)
    return found


def events(folder):
    (path,) = folder.glob("events*")
    data, at = path.read_bytes(), 0
    while at < len(data):
        (size,) = struct.unpack_from("<Q", data, at)
        yield fields(data[at + 12 : at + 12 + size])
        at += size + 16


def values(folder):
    """The values of all events, by their tags."""
    found = {}
    for event in events(folder):
        for summary in event.get(5, []):
            for value in fields(summary)[1]:
                parts = fields(value)
                found[parts[1][0].decode()] = parts
    return found


def test_graph(tmp_path):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Sequential(nn.Linear(4, 8), nn.ReLU())

        def forward(self, x):
            return self.body(x).sum() + 1

    model = Net()
    with SummaryWriter(str(tmp_path)) as writer:
        writer.add_graph(model, ember.zeros(2, 4))
    (message,) = (e[4][0] for e in events(tmp_path) if 4 in e)
    nodes = [fields(node) for node in fields(message)[1]]
    steps = {n[1][0].decode(): [i.decode() for i in n.get(3, [])] for n in nodes}
    kinds = [n[2][0].decode() for n in nodes]
    assert kinds == ["IO Node", "Linear", "ReLU", "sum", "add", "IO Node"]
    assert steps["Net/body/0/body_0"] == ["Net/x"]
    assert steps["Net/body/1/body_1"] == ["Net/body/0/body_0"]
    shape = fields(fields(fields(fields(nodes[1][5][0])[2][0])[1][0])[7][0])
    assert [fields(d)[1][0] for d in shape[2]] == [2, 8]
    assert model.training


def test_mesh(tmp_path):
    points = ember.arange(12.0).view(1, 4, 3)
    triangles = ember.tensor([[[0, 1, 2], [1, 2, 3]]])
    with SummaryWriter(str(tmp_path)) as writer:
        writer.add_mesh("m", points, faces=triangles, config_dict={"a": 1})
        with pytest.raises(ValueError, match=r"vertices of shape \[4, 3\]"):
            writer.add_mesh("m", points[0])
    found = values(tmp_path)
    assert set(found) == {"m_VERTEX", "m_FACE"}
    content = fields(found["m_FACE"][8][0])[4][0]
    assert struct.unpack("<6i", content) == (0, 1, 2, 1, 2, 3)
    about = fields(fields(fields(found["m_VERTEX"][9][0])[1][0])[2][0])
    assert about[3] == [1] and about[6] == [1, 4, 3] and about[7] == [0b110]
    assert about[5] == [b'{"a": 1}']


def test_video_is_an_animated_png(tmp_path):
    frames = ember.zeros(2, 5, 1, 6, 4)
    frames[0, 3] = 1.0
    with SummaryWriter(str(tmp_path)) as writer:
        writer.add_video("v", frames, fps=10)
        with pytest.raises(ValueError, match="5 dimensions"):
            writer.add_video("v", frames[0])
    picture = fields(values(tmp_path)["v"][4][0])
    assert picture[1] == [6] and picture[2] == [8]
    file, at, chunks = picture[4][0], 8, []
    while at < len(file):
        (size,) = struct.unpack_from(">I", file, at)
        kind, data = file[at + 4 : at + 8], file[at + 8 : at + 8 + size]
        assert struct.unpack_from(">I", file, at + 8 + size) == (
            zlib.crc32(kind + data),
        )
        chunks.append((kind, data))
        at += size + 12
    kinds = [kind for kind, _ in chunks]
    assert kinds.count(b"fcTL") == 5 and kinds.count(b"fdAT") == 4
    numbered = [d for k, d in chunks if k in (b"fcTL", b"fdAT")]
    assert [struct.unpack_from(">I", d)[0] for d in numbered] == list(range(9))
    bright = zlib.decompress([d for k, d in chunks if k == b"fdAT"][2][4:])
    row = bright[:25]  # a byte for the filter, then pixels of both videos
    assert row == b"\0" + b"\xff" * 12 + b"\0" * 12


def test_layout_of_charts(tmp_path):
    layout = {"A": {"both": ["Multiline", ["x", "y"]], "band": ["Margin", [*"mlu"]]}}
    with SummaryWriter(str(tmp_path)) as writer:
        writer.add_custom_scalars(layout)
        with pytest.raises(ValueError, match="no chart is a 'Pie'"):
            writer.add_custom_scalars({"A": {"b": ["Pie", []]}})
    tensor = fields(values(tmp_path)["custom_scalars__config__"][8][0])
    (category,) = fields(tensor[8][0])[2]
    both, band = (fields(chart) for chart in fields(category)[2])
    assert fields(both[2][0])[1] == [b"x", b"y"]
    series = fields(fields(band[3][0])[1][0])
    assert [series[i] for i in (1, 2, 3)] == [[b"m"], [b"l"], [b"u"]]


def test_embedding(tmp_path):
    points = ember.tensor([[0.5, 1.0], [2.0, 3.0], [4.0, 5.0]])
    with SummaryWriter(str(tmp_path)) as writer:
        pictures = ember.rand(3, 1, 2, 2)
        writer.add_embedding(points, ["a", "b", "c"], pictures, global_step=7)
        pairs = [("x", 1), ("y", 2), ("z", 3)]
        writer.add_embedding(points, pairs, tag="other", metadata_header=["n", "i"])
        with pytest.raises(ValueError, match="2 labels of 3 points"):
            writer.add_embedding(points, ["a", "b"])
    place = tmp_path / "00007" / "default"
    numbers = (place / "tensors.tsv").read_text().split()
    assert numbers == "0.5 1.0 2.0 3.0 4.0 5.0".split()
    assert (place / "metadata.tsv").read_text() == "a\nb\nc\n"
    assert (place / "sprite.png").read_bytes()[16:24] == struct.pack(">II", 4, 4)
    other = tmp_path / "00000" / "other" / "metadata.tsv"
    assert other.read_text() == "n\ti\nx\t1\ny\t2\nz\t3\n"
    config = (tmp_path / "projector_config.pbtxt").read_text()
    assert config.count("embeddings {") == 2


def test_notebooks_show_tensors_and_modules():
    html = ember.tensor([[1.5, 2.0]], requires_grad=True)._repr_html_()
    assert "shape [1, 2] · float32 · cpu · requires grad" in html
    assert html.count("<td") == 2 and ">1.5<" in html
    assert ember.zeros(100, 50)._repr_html_().count("<td") == 13 * 13
    for other in (
        ember.zeros(2, 2, 2),
        ember.zeros(()),
        ember.zeros(0, 3),
        ember.zeros(3, device="meta"),
        ember.zeros(2, 2).to_sparse(),
    ):
        assert "<pre>tensor(" in other._repr_html_()
    assert "Parameter" in nn.Parameter(ember.ones(2, 2, 2))._repr_html_()
    model = nn.Sequential(nn.Linear(2, 3), nn.Sequential(nn.ReLU()), nn.LazyLinear(1))
    html = model._repr_html_()
    assert html.count("<details") == 2 and "9 parameters" in html
    assert "0: <b>Linear</b>(in_features=2" in html


def test_labels_of_the_memory_timeline_keep_apart():
    from ember.utils.viz import _free_place

    taken: list = []
    places = [_free_place("some_name", 100, 100, 900, 320, taken) for _ in range(6)]
    assert None not in places
    heights = sorted(y for _, y in places)
    assert all(b - a >= 14 for a, b in pairwise(heights))
    assert _free_place("far", 500, 100, 900, 320, taken) == (505, 95)
    x, _ = _free_place("a_name_at_the_right_end", 890, 100, 900, 320, taken)
    assert x + 7.3 * 23 <= 900
    for _ in range(12):
        last = _free_place("some_name", 100, 100, 900, 320, taken)
    assert last is None
