"""`python -m tests.fuzz.checkpoints [--rounds N] [--seed S]` loads damaged files.

Checkpoints of every format are changed at random, loaded, and what was loaded is read.
Any exception is fine but those that mean that memory or the stack ran out; a crash, a
hang, or a file that makes the loader take much memory is a failure. A zip file has
checksums, so most of its changes are made to the records, before they are packed.
Before, files that were made to do harm (`attacks`) are loaded; random pickles
(`pickles`) are among the others.
"""

import argparse
import io
import random
import signal
import sys
import time
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable

import ember
from ember.utils import safetensors
from tests import checkpoints
from tests.fuzz import attacks, pickles
from tests.fuzz.limits import FORBIDDEN, limit_memory, outcome, ran_out, wrong

SECONDS = 5  # that one file may take
NUMBERS = [
    0,
    1,
    0x7F,
    0x80,
    0xFF,
    0x7FFF,
    0xFFFF,
    0x7FFFFFFF,
    0xFFFFFFFF,
    (1 << 63) - 1,
]
# Opcodes of pickle, so that changed pickles are often still pickles.
OPCODES = b"()NIJKLMTUVXQRS]}abcdeghijklopqrstu\x80\x81\x82\x85\x86\x87\x88\x89\x8a\x8c"
OPCODES += b"\x8d\x8e\x8f\x90\x91\x92\x93\x94\x95\x96\x97\x98.012"


def change(data: bytes, draw: random.Random) -> bytes:
    """`data` with a few random changes."""
    made = bytearray(data)
    for _ in range(draw.choice([1, 1, 1, 2, 3, 8])):
        at = draw.randrange(len(made) + 1)
        kind = draw.randrange(8)
        if kind == 0 and at < len(made):
            made[at] ^= 1 << draw.randrange(8)
        elif kind == 1 and at < len(made):
            made[at] = draw.randrange(256)
        elif kind == 2 and at < len(made):
            made[at] = draw.choice(OPCODES)
        elif kind == 3:
            made[at:at] = bytes(draw.choices(OPCODES, k=draw.randrange(1, 5)))
        elif kind == 4:
            del made[at : at + draw.choice([1, 2, 8, 100])]
        elif kind == 5:
            width = draw.choice([1, 2, 4, 8])
            number = draw.choice(NUMBERS) & ((1 << 8 * width) - 1)
            made[at : at + width] = number.to_bytes(
                width, draw.choice(["little", "big"])
            )
        elif kind == 6:
            other = draw.randrange(len(made) + 1)
            made[at:at] = made[other : other + draw.choice([1, 4, 16, 200])]
        elif draw.random() < 0.2:
            del made[at:]
    return bytes(made)


def change_records(data: bytes, draw: random.Random) -> bytes:
    """A zip file with one record changed, and its checksum right."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as z, zipfile.ZipFile(out, "w") as made:
        names = z.namelist()
        weights = [8 if name.endswith("data.pkl") else 1 for name in names]
        (chosen,) = draw.choices(names, weights)
        for name in names:
            record = z.read(name)
            made.writestr(name, change(record, draw) if name == chosen else record)
    return out.getvalue()


def touch(obj, seen: int = 0) -> None:
    """Read the tensors in what was loaded."""
    if isinstance(obj, ember.Tensor):
        within = obj.numel() * obj.element_size() <= 1 << 20
        within = within and all(n <= 1 << 20 for n in obj.shape)  # also of empty ones
        if within and not obj.is_meta:
            obj.detach().clone().tolist()
    elif isinstance(obj, ember.UntypedStorage):
        obj.tolist()
    elif seen < 20:
        if isinstance(obj, dict):
            obj = [*obj, *obj.values()]
        if isinstance(obj, (list, tuple, set, frozenset)):
            for item in list(obj)[:50]:
                touch(item, seen + 1)


def load(data: bytes) -> object:
    return ember.load(io.BytesIO(data))


def cases() -> list[tuple[str, bytes, Callable, Callable]]:
    """Name, a sound file, how it is changed, how it is loaded."""
    example = checkpoints.example()
    zipped, tensors = (
        checkpoints.zipped(example),
        {"a": ember.ones(3), "b": ember.ones(2)},
    )
    return [
        ("zip", zipped, change, load),
        ("zip, records", zipped, change_records, load),
        ("pickled", checkpoints.pickled(example), change, load),
        ("tar", checkpoints.tarred(), change, load),
        ("safetensors", safetensors.save(tensors), change, safetensors.load),
        ("made", zipped, made, load_made),
    ]


def made(data: bytes, draw: random.Random) -> bytes:
    """A file that has nothing of `data`: a random pickle."""
    return attacks.archive(pickles.body(draw))


def load_made(data: bytes) -> object:
    pickles.check_names(data)
    return load(data)


def run_attacks(report: Callable[[str], None] = print) -> Counter:
    """Load each file that was made to do harm, in a process of its own."""
    found: Counter = Counter()
    results = {}
    for name, data, loader, refused in attacks.attacks():
        said = outcome(lambda loader=loader, data=data: touch(loader(data)))
        results[name] = (said, refused)
        found["attacks", said] += 1
    if broken := wrong(results):
        raise AssertionError("\n".join(broken))
    report(f"{len(results)} attacks")
    return found


def run(rounds: int, seed: int, report: Callable[[str], None] = print) -> Counter:
    """Load that many changed files; what came of them, by format."""
    found: Counter = Counter()
    slowest = 0.0
    sound = cases()
    for _, data, _, loader in sound:
        touch(loader(data))
    for i in range(rounds):
        draw = random.Random(f"{seed}/{i}")
        name, data, changed, loader = sound[i % len(sound)]
        damaged = changed(data, draw)
        start = time.perf_counter()
        try:
            touch(loader(damaged))
            found[name, "loaded"] += 1
        except FORBIDDEN as error:
            raise AssertionError(
                f"round {i} of seed {seed}, {name}: {error!r}"
            ) from error
        except AssertionError as error:
            raise AssertionError(f"round {i} of seed {seed}, {name}") from error
        except Exception as error:
            if ran_out(error):
                raise AssertionError(f"round {i} of seed {seed}, {name}") from error
            found[name, type(error).__name__] += 1
        took = time.perf_counter() - start
        slowest = max(slowest, took)
        if took > SECONDS:
            raise AssertionError(f"round {i} of seed {seed}, {name}: {took:.1f} s")
        if i % 10_000 == 9_999:
            report(f"{i + 1} files, the slowest took {slowest * 1000:.0f} ms")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    load(checkpoints.zipped(checkpoints.example()))
    found = run_attacks()
    limit_memory()
    signal.alarm(3600)
    found += run(options.rounds, options.seed)
    for key, count in sorted(found.items()):
        print(f"{count:8} {key[0]}: {key[1]}")


if __name__ == "__main__":
    sys.exit(main())
