"""The kernel sources are CUDA C too: nvcc compiles each, where it is installed."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

KERNELS = Path(__file__).parents[2] / "core" / "opencl" / "kernels"
SHARED = {"common", "fold", "functions", "number"}  # put in front of others


def text(name):
    return (KERNELS / f"{name}.cl").read_text()


def defines(**names):
    return "".join(f"#define {name} {value}\n" for name, value in names.items())


FLOAT = "typedef float T;\n" + defines(T_FLOAT=1, T_BITS=32)
INT = "typedef i32 T;\ntypedef u32 U;\n" + defines(T_SIGNED=1, T_BITS=32)
LINES = defines(
    ACC="float",
    KEY="float",
    M_IN="u16",
    M_OUT="u16",
    M_Y="float",
    LOAD="LOAD_HALF",
    LOAD_Y="LOAD_PLAIN",
) + defines(
    **{
        "STORE(p, i, v)": "STORE_BFLOAT(p, i, (float)(v))",
        "READ(p, i)": "(float)(LOAD_HALF(p, i))",
    }
)
COMPLEX = "typedef c64 T;\ntypedef float R;\n"


FLAT = defines(FLAT=1, ITEMS=4)
ANY = defines(INDEX="u32", NDIM=3)
ROWS = ANY + defines(
    ROWS=1,
    READ_ROW="",
    **{f"STEP{k}(j)": f"((j) * step{k})" for k in range(4)},
)


def pointwise(types, element, formula, form=FLAT):
    return (
        types
        + form
        + text("functions")
        + defines(
            BUFFERS=f"GLOBAL {element}* b0, GLOBAL const {element}* b1,",
            SCALARS=", T b",
            READ="T a = LOAD_PLAIN(b1, at1);",
            WRITE=f"T value_ = {formula}; STORE_PLAIN(b0, at0, value_);",
        )
        + text("pointwise")
    )


def number_types(real, pairs=True):
    more = defines(COMPLEX=1) if pairs else ""
    names = defines(R=real, EPS=1e-7, TINY=1e-38, GROUP=64)
    return names + more + text("fold") + text("number")


def reduce(**names):
    folds = {"MAP(v)": "(v)", "FINISH(a)": "(a)", "COMBINE(a, b)": "((a) + (b))"}
    more = defines(FOLD=1, MOST=1, GROUP=256, **folds, **names)
    return LINES + more + text("fold") + text("reduce")


def matmul(**names):
    sizes = {"SIDE_Y": 16, "SIDE_X": 16, "ROWS": 4, "VECTORS": 1, "WIDTH": 4}
    parts = {"TILES": 1, "PACK": 1, "JOIN_SPLITS": 1, "DOTS": 1, "DEPTH": 16}
    dots = {"LINES": 8, "PIECE": 256, "COLUMNS": 2, "LANES": 1, "GROUP": 64, "BLOCK": 1}
    loads = {"LOAD_B": "LOAD_HALF", "LOAD_OUT": "LOAD_BFLOAT", "VECTOR": "float4"}
    more = defines(**sizes, **parts, **dots, **loads, **names)
    return LINES + more + text("fold") + text("matmul")


def softmax(**names):
    return LINES + defines(GROUP=64, LANES=1, **names) + text("fold") + text("softmax")


PROGRAMS = {
    "pointwise_float": lambda: pointwise(FLOAT, "float", "a * ndtr(b)"),
    "pointwise_int": lambda: pointwise(INT, "i32", "remainder(a, b)"),
    "pointwise_rows": lambda: pointwise(FLOAT, "float", "a + b", ROWS),
    "pointwise_any": lambda: pointwise(FLOAT, "float", "a + b", ANY),
    "reduce": lambda: reduce(GX=1, LANES=4, UNIT=1),
    "reduce_columns": lambda: reduce(GX=32, LANES=1, COLUMNS=1),
    "variance": lambda: reduce(GX=1, LANES=4, UNIT=1) + text("variance"),
    "variance_columns": lambda: reduce(GX=256, LANES=1, COLUMNS=1) + text("variance"),
    "extremes": lambda: reduce(GX=1, LANES=4, UNIT=1) + text("extremes"),
    "extremes_columns": lambda: reduce(GX=256, LANES=1, COLUMNS=1) + text("extremes"),
    "softmax": lambda: softmax(LOG=0),
    "softmax_columns": lambda: softmax(LOG=1, COLUMNS=1),
    "matmul": lambda: matmul(STAGED=1, M_A="float", LOAD_A="LOAD_PLAIN", M_B="u16"),
    "matmul_vectors": lambda: matmul(M_A="float", LOAD_A="LOAD_PLAIN", M_B="float"),
    "complex": lambda: (
        COMPLEX
        + text("complex")
        + defines(
            BUFFERS="GLOBAL c64* b0, GLOBAL const c64* b1,",
            SCALARS="",
            FLAT=1,
            ITEMS=1,
            READ="T x = LOAD_PLAIN(b1, at1);",
            WRITE="T value_ = c_mul(x, c_asin(x)); STORE_PLAIN(b0, at0, value_);",
        )
        + text("pointwise")
    ),
    "scan": lambda: LINES + defines(**{"JOIN(a, b)": "((a) + (b))"}) + text("scan"),
    "scan_finds": lambda: (
        LINES + defines(FINDS=1, **{"GOES_ON(a, b)": "((b) >= (a))"}) + text("scan")
    ),
    "random": lambda: (
        LINES
        + defines(R="float", SCALAR="float", PER=4, DIGITS=24, VALUES="NORMAL(v)")
        + text("random")
    ),
    "sort": lambda: LINES + defines(DESCENDING=1, BLOCK=512) + text("sort"),
    "index": lambda: (
        LINES
        + defines(RUNS=1)
        + defines(OFFSETS=1, MOVE=1, COMPACT=1, M="float", BITS="u32", CAS="SWAP32")
        + defines(TO_BITS="BITS32", FROM_BITS="FROM_BITS_float")
        + "#define COMBINE(a, b) ((a) + (b))\n"
        + text("index")
    ),
    "lines": lambda: LINES + defines(PICK=1, SEARCH=1) + text("lines"),
}
PROGRAMS["francis"] = lambda: number_types("float", False) + text("francis")
for name in ("linalg", "lu", "ldl", "qr", "hessenberg", "eigh", "svd", "lstsq"):
    PROGRAMS[name] = lambda name=name: number_types("double") + text(name)
    PROGRAMS[name + "_real"] = lambda name=name: (
        number_types("float", False) + text(name)
    )
for name in ("eig", "fft"):
    PROGRAMS[name] = lambda name=name: number_types("float") + text(name)

ELEMENTS = defines(
    ACC="float",
    M="u16",
    M_OUT="u16",
    M_W="float",
    LOAD="LOAD_HALF",
    LOAD_W="LOAD_PLAIN",
    **{
        "STORE(p, i, v)": "STORE_HALF(p, i, v)",
        "STORE_OUT(p, i, v)": "STORE_HALF(p, i, v)",
        "STORE_W(p, i, v)": "STORE_PLAIN(p, i, (float)(v))",
    },
)
PROGRAMS |= {
    "conv": lambda: (
        ELEMENTS
        + defines(TILED=1, DIRECT=1, DOTS=1, FOLDS=1, ROWS=64, COLUMNS=64, DEPTH=16)
        + defines(LANES_Y=8, LANES_X=8, PIECE_Y=8, PIECE_X=8, SHORT_RUN=8, GROUP=64)
        + text("fold")
        + text("conv")
    ),
    "pool": lambda: (
        ELEMENTS
        + defines(POOL=1, BLEND=1, LOWEST="(-(ACC)INFINITY)", INT="i32", RUN=1)
        + text("pool")
    ),
    "norm": lambda: (
        ELEMENTS
        + defines(GROUP=64, LANES=1, RUN=1, INDEX="u32", LINES=1, COLUMNS=1)
        + defines(PLANES=1, VECTORS=1, RUNS=1)
        + text("fold")
        + text("norm")
    ),
    "optim": lambda: (
        ELEMENTS
        + defines(
            T="float", LISTS="GLOBAL M* p_row, i64 p_at, GLOBAL M* g_row, i64 g_at, "
        )
        + defines(
            NUMBERS=", T lr, T sign_of_g, T added, T left",
            READ="",
            WRITE="STORE(p_row, p_at + i, p);",
        )
        + defines(EACH="p -= lr * g;")
        + text("optim")
    ),
    "loss": lambda: ELEMENTS + defines(GROUP=64) + text("fold") + text("loss"),
    "segment": lambda: ELEMENTS + defines(COLUMNS=1) + text("segment"),
    "recurrent": lambda: defines(T="float") + text("recurrent"),
}


def test_every_kernel_file_is_compiled():
    used = {name.split("_")[0] for name in PROGRAMS} | SHARED
    assert used == {path.stem for path in KERNELS.glob("*.cl")}


# The oldest architecture, the most common one, the newest that every nvcc here knows.
@pytest.mark.parametrize("architecture", ["sm_75", "sm_80", "sm_90"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_nvcc_compiles(name, architecture, tmp_path):
    if shutil.which("nvcc") is None:
        pytest.skip("nvcc is not installed")
    source = tmp_path / f"{name}.cu"
    source.write_text(text("common") + PROGRAMS[name]())
    done = subprocess.run(
        [
            "nvcc",
            "-w",
            "-ptx",
            f"-arch={architecture}",
            source,
            "-o",
            tmp_path / "out.ptx",
        ],
        capture_output=True,
        text=True,
        timeout=120,
        # A sanitizer that is loaded into this process is not for the compiler.
        env={k: v for k, v in os.environ.items() if k != "LD_PRELOAD"},
    )
    assert done.returncode == 0, done.stderr
