"""What the system tells about the processor."""

import os
import platform
import re
from typing import Any

# Our name of a feature, and the system's where that differs.
_FEATURES = """
    sse sse2 sse3=pni ssse3 sse4_1 sse4_2 sse4a avx avx2 avx_vnni
    avx512_f=avx512f avx512_cd=avx512cd avx512_dq=avx512dq avx512_bw=avx512bw
    avx512_vl=avx512vl avx512_ifma=avx512ifma avx512_vbmi=avx512vbmi avx512_vbmi2
    avx512_bitalg avx512_vpopcntdq avx512_vnni avx512_bf16 avx512_fp16
    avx512_vp2intersect avx512_4vnniw avx512_4fmaps avx10_1 avx10_2
    avx_vnni_int8 avx_vnni_int16 avx_ne_convert amx_bf16 amx_tile amx_int8 amx_fp16
    fma3=fma fma4 f16c bmi=bmi1 bmi2 popcnt lzcnt=abm aes sha=sha_ni clflush clflushopt
    clwb
    """


def describe() -> dict[str, Any]:
    """The processor's name, cores, caches and instruction sets."""
    rows = _rows()
    logical = os.cpu_count() or 1
    cores = {(r.get("physical id"), r.get("core id")) for r in rows if "core id" in r}
    sockets = {r["physical id"] for r in rows if "physical id" in r}
    first = rows[0] if rows else {}
    found: dict[str, Any] = {
        "architecture": platform.machine(),
        "cpu_name": first.get("model name", platform.processor()),
        "num_logical_cores": logical,
        "num_physical_cores": len(cores) or logical,
        "num_sockets": len(sockets) or 1,
        **_caches(),
    }
    if "flags" in first:
        has = set(first["flags"].split())
        for ours, _, theirs in (f.partition("=") for f in _FEATURES.split()):
            found[ours] = (theirs or ours) in has
    return found


def _rows() -> list[dict[str, str]]:
    """One dictionary for each logical core."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            parts = file.read().strip().split("\n\n")
    except OSError:  # not on every system
        return []
    split = (re.findall(r"^([^\t:]+)\s*: *(.*)$", part, re.MULTILINE) for part in parts)
    return [{name.strip(): value for name, value in rows} for rows in split]


def _caches() -> dict[str, int]:
    """Bytes of the caches that a core has to itself."""
    folder = "/sys/devices/system/cpu/cpu0/cache"
    sizes: dict[str, int] = {}
    try:
        for index in sorted(i for i in os.listdir(folder) if i.startswith("index")):
            texts = [_text(folder, index, n) for n in ("level", "type", "size")]
            name = {"1 Data": "l1d_cache_size", "2 Unified": "l2_cache_size"}.get(
                " ".join(texts[:2])
            )
            if name is not None:
                unit = {"K": 1 << 10, "M": 1 << 20}[texts[2][-1]]
                sizes[name] = int(texts[2][:-1]) * unit
    except (OSError, KeyError, ValueError):  # not on every system
        pass
    return sizes


def _text(*path: str) -> str:
    with open(os.path.join(*path), encoding="utf-8") as file:
        return file.read().strip()
