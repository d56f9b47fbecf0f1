"""`ember.func` and `vmap` beside torch's: values, dtypes, required gradients, and the
types of errors, one expression a line (`lib` is the library, `R` makes random input).
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import ember

torch = pytest.importorskip("torch")


def R(lib, *shape, seed=0):
    values = np.random.RandomState(seed).randn(*shape)
    return lib.tensor(np.asarray(values, np.float32))


# ruff: noqa: E501
EXPRESSIONS = """
lib.func.grad(lambda x: (x**3).sum())(R(lib,3))
lib.func.grad(lambda x,y: (x*y).sum(), argnums=(0,1))(R(lib,3),R(lib,3,seed=1))
lib.func.grad(lambda x: ((x**2).sum(), x*2), has_aux=True)(R(lib,3))
lib.func.grad_and_value(lambda x: (x.sin()).sum())(R(lib,3))
lib.func.grad(lib.func.grad(lambda x: x**3))(R(lib))
lib.func.grad(lambda x: lib.func.grad(lambda y: x*y*y)(x))(R(lib))
lib.func.grad(lambda x: x*lib.func.grad(lambda y: x+y)(x))(R(lib))
lib.func.grad(lambda d: (d['a']*d['b'][0]).sum())({'a':R(lib,3),'b':[R(lib,3,seed=3)]})
lib.func.grad(lambda x: (x**2).sum())(R(lib,3).requires_grad_())
(lambda w: lib.func.grad(lambda x: (x*x*w).sum())(R(lib,3)))(R(lib,3,seed=2).requires_grad_())
(lambda w: lib.func.grad(lambda x: (x*x).sum()+w.sum())(R(lib,3)))(R(lib,3,seed=2).requires_grad_())
(lambda w: lib.func.grad_and_value(lambda x: (x*x).sum()+w.sum())(R(lib,3)))(R(lib,3,seed=2).requires_grad_())
lib.func.grad(lambda x: x.detach().sum()*x.sum())(R(lib,3))
lib.func.vjp(lambda x: (x.sin(), x.cos()), R(lib,3))[0]
lib.func.vjp(lambda x: (x.sin(), x.cos()), R(lib,3))[1]((lib.ones(3),lib.ones(3)))
lib.func.vjp(lambda x: {'a':x.sin(),'b':x.cos()}, R(lib,3))[1]({'a':lib.ones(3),'b':lib.ones(3)})
lib.func.vjp(lambda x,y: x@y, R(lib,3,4),R(lib,4,2,seed=4))[1](lib.ones(3,2))
lib.func.jvp(lambda x: x.sin(), (R(lib,3),),(R(lib,3,seed=1),))
lib.func.jvp(lambda x,y: (x@y).relu(), (R(lib,3,4),R(lib,4,2,seed=4)),(R(lib,3,4,seed=5),R(lib,4,2,seed=6)))
lib.func.jvp(lambda x: (x*2, lib.ones(2)), (R(lib,3),),(R(lib,3,seed=1),))
lib.func.jvp(lambda x: (x.sin(), x.sum()), (R(lib,3),),(R(lib,3,seed=1),), has_aux=True)
lib.func.linearize(lambda x: x.sin(), R(lib,3))[1](R(lib,3,seed=1))
lib.func.jacrev(lambda x: x.sin())(R(lib,3))
lib.func.jacrev(lambda x: x@x.t())(R(lib,2,3))
lib.func.jacrev(lambda x,y: (x.sin()*y, (x*y).sum()), argnums=(0,1))(R(lib,3),R(lib,3,seed=2))
lib.func.jacrev(lambda x: (x.sin(), x), has_aux=True)(R(lib,3))
lib.func.jacfwd(lambda x: x.sin())(R(lib,3))
lib.func.jacfwd(lambda x,y: (x.sin()*y, (x*y).sum()), argnums=(0,1))(R(lib,3),R(lib,3,seed=2))
lib.func.jacfwd(lambda x: {'a':x@x.t()})(R(lib,2,3))
lib.func.hessian(lambda x: (x**3).sum()*x[0])(R(lib,3))
lib.func.hessian(lambda x,y: (x**2*y).sum(), argnums=(0,1))(R(lib,3),R(lib,3,seed=1))
lib.func.jacrev(lib.func.jacfwd(lambda x: x.exp().prod()))(R(lib,3))
lib.vmap(lambda x: x*2)(R(lib,3,4))
lib.vmap(lambda x,y: x@y)(R(lib,3,4),R(lib,3,4))
lib.vmap(lambda x,y: x@y, in_dims=(1,0))(R(lib,4,3),R(lib,3,4))
lib.vmap(lambda x,y: x@y, in_dims=(0,None))(R(lib,3,4),R(lib,4,2))
lib.vmap(lambda x,y: x@y, in_dims=(None,0))(R(lib,2,4),R(lib,3,4))
lib.vmap(lambda x,y: x@y, in_dims=(None,2))(R(lib,2,4),R(lib,4,5,3))
lib.vmap(lambda x,y: lib.mm(x,y))(R(lib,3,2,4),R(lib,3,4,5))
lib.vmap(lambda x: x.sum())(R(lib,3,4,5))
lib.vmap(lambda x: x.sum(0))(R(lib,3,4,5))
lib.vmap(lambda x: x.mean(-1,keepdim=True), out_dims=1)(R(lib,3,4,5))
lib.vmap(lambda x: x.max(0))(R(lib,3,4,5))
lib.vmap(lambda x: (x.max(), x.argmax(), x.prod(), x.std(), x.var(0), x.norm(), x.norm(dim=0)))(R(lib,3,4,5))
lib.vmap(lambda x: lib.softmax(x,0))(R(lib,3,4,5))
lib.vmap(lambda x: lib.nn.functional.log_softmax(x,-1))(R(lib,3,4,5))
lib.vmap(lambda x: x.view(20))(R(lib,3,4,5))
lib.vmap(lambda x: x.reshape(-1,2).t())(R(lib,3,4,5))
lib.vmap(lambda x: (x.permute(1,0), x.T, x.mT, x.flatten(), x.unsqueeze(0), x.unsqueeze(-1), x.squeeze(), x[0], x[:,1], x[...,None], x[-1,2:]))(R(lib,3,4,5))
lib.vmap(lambda x: (x.expand(2,4,5), x.repeat(2,1), x.transpose(0,1), x.movedim(0,1), x.chunk(2), x.split(2,1), x.unbind(0), x.diagonal(), x.flip(0), x.roll(1,0)))(R(lib,3,4,5))
lib.vmap(lambda x,i: x[i])(R(lib,3,4),lib.tensor([0,2,1]))
lib.vmap(lambda x,i: x[i], in_dims=(None,0))(R(lib,4,5),lib.tensor([0,2,1]))
lib.vmap(lambda x,i: x[i], in_dims=(0,None))(R(lib,3,4,5),lib.tensor([0,2,1]))
lib.vmap(lambda x,i: x[:,i], in_dims=(0,0))(R(lib,3,4,5),lib.tensor([[0,2],[1,1],[0,0]]))
lib.vmap(lambda x: lib.cat([x,x*2]))(R(lib,3,4))
lib.vmap(lambda x: lib.stack([x,lib.ones(4)],1))(R(lib,3,4))
lib.vmap(lambda x,y: lib.where(x>0,x,y), in_dims=(0,None))(R(lib,3,4),R(lib,4,seed=1))
lib.vmap(lambda x: lib.einsum('ij,kj->ik',x,x))(R(lib,3,4,5))
lib.vmap(lambda x,y: x+y)(R(lib,3,4,5),R(lib,3,5))
lib.vmap(lambda x,y: x+y)(R(lib,3,4),R(lib,3).double())
lib.vmap(lambda x,y: x+y)(lib.arange(3),R(lib,3,2))
lib.vmap(lambda x: x.sort())(R(lib,3,4))
lib.vmap(lambda x: x.topk(2))(R(lib,3,4))
lib.vmap(lambda x: x.cumsum(0))(R(lib,3,4))
lib.vmap(lambda x: lib.nn.functional.linear(x,R(lib,5,4),R(lib,5)))(R(lib,3,4))
lib.vmap(lambda x,w,b: lib.nn.functional.linear(x,w,b))(R(lib,3,4),R(lib,3,5,4),R(lib,3,5))
lib.vmap(lambda x,w,b: lib.nn.functional.conv2d(x,w,b,padding=1))(R(lib,3,2,2,5,5),R(lib,3,4,2,3,3),R(lib,3,4))
lib.vmap(lambda x,w: lib.nn.functional.conv2d(x,w), in_dims=(0,None))(R(lib,3,2,2,5,5),R(lib,4,2,3,3))
lib.vmap(lambda x,w: lib.nn.functional.conv2d(x,w), in_dims=(None,0))(R(lib,2,2,5,5),R(lib,3,4,2,3,3))
lib.vmap(lambda x,w: lib.nn.functional.conv2d(x,w), in_dims=(0,0))(R(lib,3,2,5,5),R(lib,3,4,2,3,3))
lib.vmap(lambda x,w: lib.nn.functional.conv_transpose1d(x,w,stride=2), in_dims=(0,0))(R(lib,3,1,2,5),R(lib,3,2,4,3))
lib.vmap(lambda x: lib.nn.functional.layer_norm(x,(5,)))(R(lib,3,4,5))
lib.vmap(lambda x: lib.nn.functional.max_pool2d(x,2))(R(lib,3,1,2,4,4))
lib.vmap(lambda x: lib.nn.functional.cross_entropy(x,lib.tensor([0,1,2,3])))(R(lib,3,4,5))
lib.vmap(lambda x,y: lib.nn.functional.mse_loss(x,y))(R(lib,3,4,5),R(lib,3,4,5,seed=1))
lib.vmap(lambda x,y: lib.nn.functional.cross_entropy(x,y))(R(lib,3,5),lib.tensor([0,1,4]))
lib.vmap(lib.vmap(lambda x,y: x*y))(R(lib,3,4,5),R(lib,3,4,5))
lib.vmap(lib.vmap(lambda x,y: x@y, in_dims=(None,0)), in_dims=(0,None))(R(lib,3,4),R(lib,5,4))
lib.vmap(lib.func.grad(lambda x: (x**3).sum()))(R(lib,3,4))
lib.vmap(lib.func.grad(lambda w,x: (x@w).sin().sum()), in_dims=(None,0))(R(lib,4),R(lib,3,4,seed=2))
lib.vmap(lib.func.jacrev(lambda x: x.sin()*x.sum()))(R(lib,3,4))
lib.vmap(lib.func.jacfwd(lambda x: x.sin()*x.sum()))(R(lib,3,4))
lib.vmap(lib.func.hessian(lambda x: x.exp().prod()))(R(lib,3,4))
lib.func.grad(lambda x: lib.vmap(lambda y: (y**2).sum())(x).prod())(R(lib,3,4))
lib.func.jacrev(lib.vmap(lambda x: x.sin()))(R(lib,2,3))
(lambda f: lib.vmap(f)(lib.eye(3)))(lib.func.vjp(lambda x: x.sin()*x.sum(), R(lib,3))[1])
lib.vmap(lambda v: lib.func.jvp(lambda x: x.sin()*x.sum(), (R(lib,3),),(v,))[1])(lib.eye(3))
lib.vmap(lambda x: x*2, chunk_size=2)(R(lib,5,4))
lib.vmap(lambda x,y: (x+y,x*y), in_dims=(0,None), out_dims=(1,0), chunk_size=2)(R(lib,5,4),R(lib,4))
lib.vmap(lambda d: d['a']+d['b'], in_dims=({'a':0,'b':None},))({'a':R(lib,3,4),'b':R(lib,4)})
lib.vmap(lambda x: {'a':x,'b':(x,x*2)}, out_dims={'a':0,'b':1})(R(lib,3,4))
lib.vmap(lambda x: lib.ones(2))(R(lib,3))
lib.vmap(lambda x: x.add_(1))(R(lib,3,4))
lib.vmap(lambda x: x.clone().zero_())(R(lib,3,4))
lib.vmap(lambda x: x.new_zeros(2)+x.sum())(R(lib,3,4))
lib.vmap(lambda x: lib.zeros_like(x))(R(lib,3,4))
lib.vmap(lambda x,i: lib.gather(x,0,i))(R(lib,3,4),lib.tensor([[0,2],[1,1],[3,0]]))
lib.vmap(lambda x,m: x.masked_fill(m,0.))(R(lib,3,4),R(lib,3,4)>0)
lib.vmap(lambda x: x.double())(R(lib,3,4))
lib.vmap(lambda x: x.to(lib.float64))(R(lib,3,4))
lib.vmap(lambda x: 2-x)(R(lib,3,4))
lib.vmap(lambda x: (1/x, x**2, 2**x, x//2, x%2, -x, abs(x), x>0, x==x, ~(x>0)))(R(lib,3,4))
lib.vmap(lambda x: lib.clamp(x,min=0))(R(lib,3,4))
lib.vmap(lambda x: lib.addmm(R(lib,2,2),x,x))(R(lib,3,2,2))
lib.vmap(lambda x: x.tril())(R(lib,3,4,4))
lib.vmap(lambda x: x.trace())(R(lib,3,4,4))
lib.vmap(lambda x: lib.linalg.vector_norm(x))(R(lib,3,4,4))
lib.vmap(lambda x: lib.outer(x,x))(R(lib,3,4))
lib.vmap(lambda x: lib.kron(x,x))(R(lib,3,2,2))
lib.vmap(lambda x: x.unfold(0,2,1))(R(lib,3,4))
lib.vmap(lambda x: lib.nn.functional.pad(x,(1,1)))(R(lib,3,4))
lib.vmap(lambda x: lib.nn.functional.gelu(x))(R(lib,3,4))
lib.vmap(lambda x: lib.nn.functional.scaled_dot_product_attention(x,x,x))(R(lib,3,2,4,4))
lib.vmap(lambda x: (x.shape[0], x.dim(), x)[2]*x.numel())(R(lib,3,4))
lib.vmap(lambda x,i: lib.nn.functional.embedding(i,x))(R(lib,3,4,2),lib.tensor([[0,1],[1,2],[3,3]]))
lib.vmap(lambda x,i: lib.nn.functional.one_hot(i,4)*x)(R(lib,3,4),lib.tensor([0,1,3]))
lib.vmap(lambda x: lib.all(x>0)|lib.any(x<1))(R(lib,3,4))
lib.vmap(lambda x: (x.any(0),x.all()))(R(lib,3,4)>0)
(lib.manual_seed(0),lib.vmap(lambda x: x+lib.rand(4), randomness='different')(R(lib,3,4)))[1]
(lib.manual_seed(0),lib.vmap(lambda x: x+lib.randn(4), randomness='different')(R(lib,3,4)))[1]
(lib.manual_seed(0),lib.vmap(lambda x: x+lib.rand(4), randomness='same')(R(lib,3,4)))[1]
lib.vmap(lambda x: lib.rand_like(x))(R(lib,3,4))
lib.vmap(lambda x: lib.rand(3))(R(lib,3,4))
lib.vmap(lambda x: x.item())(R(lib,3))
lib.vmap(lambda x: x if x>0 else -x)(R(lib,3))
lib.vmap(lambda x: 3)(R(lib,3))
lib.vmap(lambda x: x)(3)
lib.vmap(lambda x: x, in_dims=2)(R(lib,3))
lib.vmap(lambda x,y: x+y)(R(lib,3),R(lib,4))
lib.vmap(lambda x,y: x+y, in_dims=(0,))(R(lib,3),R(lib,4))
lib.vmap(lambda x,y: x+y, in_dims=None)(R(lib,3),R(lib,4))
lib.vmap(lambda: 3)()
lib.vmap(lambda x: x, randomness='foo')(R(lib,3))
lib.vmap(lambda x: x, chunk_size=0)(R(lib,3))
lib.vmap(lambda x: x, out_dims=None)(R(lib,3))
lib.vmap(lambda x: lib.ones(2), out_dims=None)(R(lib,3))
lib.vmap(lambda x: x, out_dims=3)(R(lib,3))
lib.func.grad(lambda x: x)(R(lib,3))
lib.func.grad(lambda x: 3)(R(lib,3))
lib.func.grad(lambda x: x.sum())(3)
lib.func.grad(lambda x: x.sum(), argnums=1)(R(lib,3))
lib.func.vjp(lambda x: x, R(lib,3))[1](R(lib,4))
lib.func.jvp(lambda x: x, (R(lib,3),), (R(lib,4),))
lib.func.jvp(lambda x: x, R(lib,3), R(lib,3))
lib.func.rearrange(R(lib,2,6,3),'a (b c) d -> (d a) c b', b=2)
lib.func.rearrange(R(lib,2,6,3),'a ... -> ... a')
lib.func.rearrange(R(lib,2,6,3),'a ... c -> (a c) ...')
lib.func.functional_call(lib.nn.Linear(2,2),{'weight':lib.ones(2,2),'bias':lib.zeros(2)},(lib.ones(1,2),))
lib.autograd.functional.jacobian(lambda x: x.sin(), R(lib,3), vectorize=True)
lib.autograd.functional.jacobian(lambda x: x.sin(), R(lib,3), vectorize=True, strategy='forward-mode')
lib.autograd.functional.hessian(lambda x: (x**3).sum(), R(lib,3), vectorize=True)
(lambda x: lib.autograd.grad((x**2), x, grad_outputs=lib.eye(3), is_grads_batched=True))(R(lib,3).requires_grad_())
(lambda x: (lambda y: (y.sum().backward(), x.grad)[1])(lib.vmap(lambda a: (a*a).sum())(x)))(R(lib,3,4).requires_grad_())
(lambda m,x: lib.vmap(lib.func.grad(lambda p,x: lib.func.functional_call(m,p,(x,)).pow(2).sum()),in_dims=(None,0))({'weight':lib.ones(2,3),'bias':lib.ones(2)},x))(lib.nn.Linear(3,2),R(lib,5,3))
(lambda ms: (lambda pb: lib.vmap(lambda p,b,x: lib.func.functional_call(ms[0],(p,b),(x,)),in_dims=(0,0,None))(pb[0],pb[1],R(lib,5,3)))(lib.func.stack_module_state(ms)))((lib.manual_seed(0),[lib.nn.Linear(3,2) for _ in range(4)])[1])
lib.vmap(lambda x: x.numpy())(R(lib,3))
lib.vmap(lambda x: x.nonzero())(R(lib,3,2))
lib.vmap(lambda x: lib.nn.functional.batch_norm(x,None,None,training=True))(R(lib,3,4,5))
lib.vmap(lambda x: lib.nn.functional.group_norm(x,2))(R(lib,3,2,4,5))
lib.vmap(lambda x: (x.requires_grad, x*1)[1])(R(lib,3,2))
(lambda t: lib.vmap(lambda x: t.add_(x))(R(lib,3,2)))(lib.zeros(2))
(lambda t: lib.vmap(lambda x: t.index_put_((lib.tensor([0]),),x))(R(lib,3,2)))(lib.zeros(2))
lib.vmap(lambda x: lib.nn.functional.dropout(x,0.5))(R(lib,3,2))
lib.vmap(lambda x: lib.nn.functional.dropout(x,0.5,training=False))(R(lib,3,2))
lib.vmap(lambda x: lib.bucketize(x, lib.tensor([0.,1.])))(R(lib,3,2))
lib.vmap(lambda x: lib.logsumexp(x,0))(R(lib,3,2))
lib.vmap(lambda x: lib.broadcast_tensors(x,lib.ones(4,2)))(R(lib,3,2))
lib.vmap(lambda x: lib.meshgrid(x,x,indexing='ij'))(R(lib,3,2))
lib.vmap(lambda x: lib.tensordot(x,x,dims=1))(R(lib,3,2,2))
lib.vmap(lambda x: lib.chunk(x,2,dim=1))(R(lib,3,2,2))
lib.vmap(lambda x: (x.sum(dim=(0,1)), x.amax((0,1)), lib.std_mean(x), lib.var_mean(x,0), lib.aminmax(x), lib.count_nonzero(x)))(R(lib,3,2,2))
lib.vmap(lambda x: x.index_select(0,lib.tensor([1,0])))(R(lib,3,2,2))
lib.vmap(lambda x: x.scatter(0,lib.tensor([[0,1]]),x[:1]))(R(lib,3,2,2))
lib.vmap(lambda x: x.scatter_add(0,lib.tensor([[0,1]]),x[:1]))(R(lib,3,2,2))
lib.vmap(lambda x: lib.nn.functional.dropout(x,0.0))(R(lib,3,2))
lib.vmap(lambda x: lib.nn.functional.dropout(x,1.0), randomness='different')(R(lib,3,2))
lib.vmap(lambda x: lib.nn.functional.batch_norm(x,lib.zeros(4),lib.ones(4),training=True))(R(lib,3,2,4,5))
lib.vmap(lambda x: lib.nn.functional.batch_norm(x,lib.zeros(4),lib.ones(4)))(R(lib,3,2,4,5))
lib.vmap(lambda x,w: lib.nn.functional.batch_norm(x,None,None,w,training=True))(R(lib,3,2,4,5),R(lib,3,4))
lib.vmap(lambda x: lib.zeros(2).copy_(x))(R(lib,3,2))
lib.vmap(lambda x: lib.randperm(4).shape[0]*x, randomness='different')(R(lib,3,2))
lib.vmap(lambda x: lib.nn.functional.avg_pool2d(x,2))(R(lib,3,2,4,4))
lib.vmap(lambda x: lib.nn.functional.max_pool2d(x,2,return_indices=True))(R(lib,3,2,4,4))
lib.vmap(lambda x: lib.nn.functional.adaptive_avg_pool2d(x,2))(R(lib,3,1,2,4,4))
lib.vmap(lambda x: lib.nn.functional.interpolate(x,scale_factor=2))(R(lib,3,1,2,4,4))
lib.vmap(lambda x,w: lib.nn.functional.group_norm(x,2,w))(R(lib,3,2,4,5),R(lib,3,4))
lib.vmap(lambda x,w: lib.nn.functional.layer_norm(x,(5,),w))(R(lib,3,2,4,5),R(lib,3,5))
lib.vmap(lambda a,b: lib.linalg.solve(a,b))(R(lib,3,4,4),R(lib,3,4))
lib.vmap(lambda a,b: lib.linalg.solve(a,b), in_dims=(None,0))(R(lib,4,4),R(lib,3,4,2))
lib.vmap(lambda x: (lib.fft.fft(x), lib.fft.rfft2(x), lib.fft.fftn(x), lib.fft.fftshift(x)))(R(lib,3,4,4))
lib.vmap(lambda x,i: x.index_add(0,i,x[:2]))(R(lib,3,4,2),lib.tensor([[0,1],[1,1],[3,0]]))
lib.vmap(lambda x,i: x.index_select(1,i), in_dims=(None,0))(R(lib,4,3),lib.tensor([[0,1],[1,1],[2,0]]))
lib.vmap(lambda x,i: x[:,i,None,0])(R(lib,2,3,4,5),lib.tensor([[0,1],[3,2]]))
lib.vmap(lambda x,i,j: x[i,:,j])(R(lib,2,3,4,5),lib.tensor([[0,1],[2,2]]),lib.tensor([[0,4],[2,1]]))
lib.vmap(lambda x,i,v: x.index_put((i,),v))(R(lib,2,3,4),lib.tensor([[0,1],[2,2]]),R(lib,2,1))
lib.vmap(lambda x,w: lib.nn.functional.cross_entropy(x,lib.tensor([0,1,2,3]),w,label_smoothing=0.1))(R(lib,3,4,5),R(lib,3,5).abs())
lib.vmap(lambda x: lib.nn.functional.cross_entropy(x,x.softmax(1)))(R(lib,3,4,5))
lib.vmap(lambda x,w: lib.nn.functional.prelu(x,w))(R(lib,3,2,4),R(lib,3,4))
lib.vmap(lambda x: lib.renorm(x,2,0,1.0))(R(lib,3,4,5))
lib.vmap(lambda x: lib.cov(x))(R(lib,3,4,5))
lib.vmap(lambda x: lib.diag(x))(R(lib,3,4))
lib.vmap(lambda x: x.masked_select(x>0))(R(lib,3,4))
"""


def plain(value):
    """Tensors, wherever they are, as what is compared."""
    if isinstance(value, (torch.Tensor, ember.Tensor)):
        return value.requires_grad, str(value.dtype), value.detach().numpy()
    if isinstance(value, (tuple, list)):
        return [plain(v) for v in value]
    if isinstance(value, dict):
        return {key: plain(v) for key, v in value.items()}
    return value


def same(a, b) -> bool:
    if isinstance(a, tuple):
        close = a[2].shape == b[2].shape and np.allclose(
            a[2], b[2], rtol=1e-4, atol=1e-5, equal_nan=True
        )
        return close and a[:2] == b[:2]
    if isinstance(a, list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    return a == b


def outcome(expression: str, lib):
    try:
        return plain(eval(expression, {"lib": lib, "R": R}))
    except Exception as error:
        return f"raises {type(error).__name__}"


@pytest.mark.parametrize("expression", EXPRESSIONS.strip().split("\n"))
def test_func_is_torchs(expression: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs, ours = outcome(expression, torch), outcome(expression, ember)
    assert same(theirs, ours), (theirs, ours)
