"""Names of backends and reductions, and the options of collectives."""

from __future__ import annotations

from datetime import timedelta
from enum import Enum
from typing import Any

from ember import Tensor

default_pg_timeout = timedelta(minutes=30)


def as_timedelta(timeout: timedelta | float) -> timedelta:
    """A time; numbers are seconds."""
    return timeout if isinstance(timeout, timedelta) else timedelta(seconds=timeout)


class Backend(str):
    """The name of a way to communicate, in lower case. All that are here run on MPI."""

    UNDEFINED = "undefined"
    GLOO = "gloo"
    NCCL = "nccl"
    UCC = "ucc"
    MPI = "mpi"
    XCCL = "xccl"
    backend_list = [UNDEFINED, GLOO, NCCL, XCCL, UCC, MPI]
    default_device_backend_map: dict[str, str] = {"cpu": GLOO, "opencl": GLOO}
    backend_capability: dict[str, list[str]] = {
        GLOO: ["cpu", "opencl"],
        MPI: ["cpu", "opencl"],
    }
    _plugins: dict[str, Any] = {}

    def __new__(cls, name: str) -> Backend:
        if not isinstance(name, str):
            raise ValueError("Backend constructor parameter must be string-ish")
        return super().__new__(cls, name.lower())

    @classmethod
    def register_backend(
        cls,
        name: str,
        func: Any,
        extended_api: bool = False,
        devices: str | list[str] | None = None,
    ) -> None:
        """Give a name to a way of a program's own: `_backends.py`."""
        from ember.distributed._backends import register_backend

        register_backend(name, func, extended_api, devices)


class RedOpType(Enum):
    """How numbers of several processes become one."""

    SUM = 0
    AVG = 1
    PRODUCT = 2
    MIN = 3
    MAX = 4
    BAND = 5
    BOR = 6
    BXOR = 7
    PREMUL_SUM = 8
    UNUSED = 9


class ReduceOp:
    """How numbers of several processes become one."""

    RedOpType = RedOpType
    SUM = RedOpType.SUM
    AVG = RedOpType.AVG
    PRODUCT = RedOpType.PRODUCT
    MIN = RedOpType.MIN
    MAX = RedOpType.MAX
    BAND = RedOpType.BAND
    BOR = RedOpType.BOR
    BXOR = RedOpType.BXOR
    PREMUL_SUM = RedOpType.PREMUL_SUM
    UNUSED = RedOpType.UNUSED

    def __new__(cls, op: Any) -> Any:
        return op


reduce_op = ReduceOp


class PremulSum:
    """A sum of values that were multiplied before."""

    def __init__(self, factor: float | Tensor) -> None:
        self.factor = factor

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PremulSum):
            return NotImplemented
        a, b = self.factor, other.factor
        if isinstance(a, Tensor) or isinstance(b, Tensor):
            return isinstance(a, Tensor) and isinstance(b, Tensor) and a.equal(b)
        return a == b

    def __hash__(self) -> int:
        return hash(RedOpType.PREMUL_SUM)


def _make_nccl_premul_sum(factor: float | Tensor) -> PremulSum:
    return PremulSum(factor)


class _Options:
    """What a collective of a ProcessGroup is told; fields as in PyTorch."""

    rootRank = 0
    rootTensor = 0
    reduceOp: Any = RedOpType.SUM
    timeout: timedelta | None = None
    asyncOp = True
    sparseIndices: Tensor | None = None
    device_ids: Any = None
    device: Any = None

    def __init__(self, **fields: Any) -> None:
        vars(self).update(fields)


class AllreduceOptions(_Options): ...


class AllreduceCoalescedOptions(_Options): ...


class ReduceOptions(_Options): ...


class BroadcastOptions(_Options): ...


class AllgatherOptions(_Options): ...


class GatherOptions(_Options): ...


class ScatterOptions(_Options): ...


class ReduceScatterOptions(_Options): ...


class AllToAllOptions(_Options): ...


class BarrierOptions(_Options): ...


def supports_complex(reduceOp: Any) -> bool:
    """Whether a reduction has a meaning for complex numbers."""
    return reduceOp not in {
        RedOpType.MAX,
        RedOpType.MIN,
        RedOpType.PRODUCT,
        RedOpType.BAND,
        RedOpType.BOR,
        RedOpType.BXOR,
    }
