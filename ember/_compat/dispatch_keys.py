"""Dispatch keys, by which PyTorch finds kernels: torchvision names some of them. Here a
kernel is found by the device alone."""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum
from typing import Any

from ember import Tensor

_NAMES = """
    Undefined CPU CUDA HIP XLA MPS IPU XPU HPU VE Lazy MTIA MAIA PrivateUse1
    PrivateUse2 PrivateUse3 Meta QuantizedCPU QuantizedCUDA SparseCPU SparseCUDA
    SparseCsrCPU SparseCsrCUDA NestedTensorCPU NestedTensorCUDA MkldnnCPU Vulkan
    FPGA BackendSelect Python FuncTorchDynamicLayerBackMode Functionalize Named
    Conjugate Negative ZeroTensor ADInplaceOrView AutogradOther
    AutogradFunctionality AutogradCPU AutogradCUDA AutogradXLA AutogradLazy
    AutogradMPS AutogradIPU AutogradXPU AutogradHPU AutogradVE AutogradMeta
    AutogradMTIA AutogradMAIA AutogradPrivateUse1 AutogradNestedTensor Tracer
    AutocastCPU AutocastMTIA AutocastMAIA AutocastXPU AutocastIPU AutocastHPU
    AutocastXLA AutocastMPS AutocastCUDA AutocastPrivateUse1 FuncTorchBatched
    BatchedNestedTensor FuncTorchVmapMode Batched VmapMode FuncTorchGradWrapper
    DeferredInit PythonTLSSnapshot FuncTorchDynamicLayerFrontMode
    TESTING_ONLY_GenericWrapper TESTING_ONLY_GenericMode PreDispatch
    PythonDispatcher PythonTLSSnapshot_ Autograd CompositeImplicitAutograd
    CompositeImplicitAutogradNestedTensor CompositeExplicitAutograd
    CompositeExplicitAutogradNonFunctional FuncTorchBatchedDecomposition
    """
DispatchKey = IntEnum("DispatchKey", _NAMES.split(), start=0)  # type: ignore[misc]


class DispatchKeySet:
    """A set of keys."""

    def __init__(self, *keys: Any) -> None:
        self._keys = frozenset(
            k
            for key in keys
            for k in (key._keys if isinstance(key, DispatchKeySet) else [key])
        )

    def has(self, key: Any) -> bool:
        """Whether a key is in the set."""
        return key in self._keys

    def __contains__(self, key: Any) -> bool:
        return key in self._keys

    def __iter__(self) -> Iterator:
        return iter(sorted(self._keys))

    def __or__(self, other: DispatchKeySet) -> DispatchKeySet:
        return DispatchKeySet(*(self._keys | other._keys))

    def __and__(self, other: DispatchKeySet) -> DispatchKeySet:
        return DispatchKeySet(*(self._keys & other._keys))

    def __sub__(self, other: DispatchKeySet) -> DispatchKeySet:
        return DispatchKeySet(*(self._keys - other._keys))

    def add(self, key: Any) -> DispatchKeySet:
        """The set with one more key."""
        return DispatchKeySet(*self._keys, key)

    def remove(self, key: Any) -> DispatchKeySet:
        """The set without a key."""
        return DispatchKeySet(*(self._keys - {key}))

    def highestPriorityTypeId(self) -> Any:
        """The last key of the set."""
        return max(self._keys, default=DispatchKey["Undefined"])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DispatchKeySet) and self._keys == other._keys

    def __hash__(self) -> int:
        return hash(self._keys)

    def __repr__(self) -> str:
        return f"DispatchKeySet({', '.join(k.name for k in self)})"


def _dispatch_keys(tensor: Tensor) -> DispatchKeySet:
    """Those that PyTorch would give a tensor of this device."""
    kind = {"cpu": "CPU", "cuda": "CUDA", "meta": "Meta"}.get(tensor.device.type)
    names = ["ADInplaceOrView"]
    if kind is not None:
        names += [kind, "Autograd" + kind]
        names += [] if kind == "Meta" else ["Autocast" + kind]
    return DispatchKeySet(*(DispatchKey[name] for name in names))


class ExcludeDispatchKeyGuard:
    """A block without some keys. Those of autocast switch it off; others mean nothing
    here."""

    def __init__(self, keys: DispatchKeySet) -> None:
        from ember.amp import autocast

        kinds = {"AutocastCPU": "cpu", "AutocastCUDA": "cuda", "AutocastXPU": "xpu"}
        names = [kinds[k.name] for k in keys if k.name in kinds]
        self._off = [autocast(name, enabled=False) for name in names]

    def __enter__(self) -> None:
        for block in self._off:
            block.__enter__()

    def __exit__(self, *error: Any) -> None:
        for block in reversed(self._off):
            block.__exit__(*error)


_ExcludeDispatchKeyGuard = ExcludeDispatchKeyGuard
_excluded: set = set()


def _dispatch_tls_set_dispatch_key_excluded(key: Any, excluded: bool) -> None:
    (_excluded.add if excluded else _excluded.discard)(key)


def _dispatch_tls_is_dispatch_key_excluded(key: Any) -> bool:
    return key in _excluded
