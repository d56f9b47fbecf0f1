"""Programs as graphs: follow a module, look at its steps, change them, run it again.

`symbolic_trace` runs a module or function with proxies and gives a `GraphModule`: a
`Graph` of `Node`s, and Python text made of it. docs/fx.md is the guide.

>>> import ember
>>> traced = ember.fx.symbolic_trace(lambda x: ember.relu(x) + 1)
>>> print(traced.code.strip())
def forward(self, x):
    relu = ember.relu(x);  x = None
    add = relu + 1;  relu = None
    return add
"""

from ember import _lazy
from ember.fx._symbolic_trace import (
    PH,
    ProxyableClassMeta,
    Tracer,
    symbolic_trace,
    wrap,
)
from ember.fx.graph import CodeGen, Graph
from ember.fx.graph_module import GraphModule
from ember.fx.interpreter import Interpreter, Transformer
from ember.fx.node import Node, has_side_effect, map_arg
from ember.fx.proxy import Proxy
from ember.fx.subgraph_rewriter import replace_pattern

__all__ = [
    "PH",
    "CodeGen",
    "Graph",
    "GraphModule",
    "Interpreter",
    "Node",
    "Proxy",
    "ProxyableClassMeta",
    "Tracer",
    "Transformer",
    "has_side_effect",
    "map_arg",
    "replace_pattern",
    "symbolic_trace",
    "wrap",
]
__getattr__ = _lazy.missing(__name__)
