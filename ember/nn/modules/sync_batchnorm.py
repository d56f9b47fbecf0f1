"""Batch norm over the batches of all processes.

Without processes (`ember.distributed` not initialized) it is ordinary batch norm.
"""

import ember
from ember import Tensor
from ember.nn.modules.batchnorm import _BatchNorm
from ember.nn.modules.module import Module


class SyncBatchNorm(_BatchNorm):
    """Batch normalization whose statistics are of the whole, distributed batch.

    >>> import ember
    >>> model = ember.nn.Sequential(ember.nn.Linear(2, 3), ember.nn.BatchNorm1d(3))
    >>> ember.nn.SyncBatchNorm.convert_sync_batchnorm(model)[1]
    SyncBatchNorm(3, eps=1e-05, momentum=0.1, affine=True, bias=True, \
track_running_stats=True)
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        process_group=None,
        device=None,
        dtype=None,
        *,
        bias: bool = True,
    ) -> None:
        given = (num_features, eps, momentum, affine, track_running_stats)
        super().__init__(*given, device, dtype, bias=bias)
        self.process_group = process_group

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() < 2:
            raise ValueError(f"expected at least 2D input (got {input.dim()}D input)")
        if input.size(1) == 0:
            raise ValueError(
                "SyncBatchNorm number of input channels should be non-zero"
            )

    @classmethod
    def convert_sync_batchnorm(cls, module: Module, process_group=None) -> Module:
        """`module` with every batch norm in it replaced; weights are shared."""
        made = module
        if isinstance(module, _BatchNorm) and not isinstance(module, SyncBatchNorm):
            made = cls(
                module.num_features,
                module.eps,
                module.momentum,
                module.affine,
                module.track_running_stats,
                process_group,
                bias=module.bias is not None,
            )
            if module.affine:
                with ember.no_grad():
                    made.weight, made.bias = module.weight, module.bias
            made.running_mean = module.running_mean
            made.running_var = module.running_var
            made.num_batches_tracked = module.num_batches_tracked
            made.training = module.training
        for name, child in module.named_children():
            made.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return made
