"""torch_geometric: graph layers, batches, a training loop."""

import torch
from torch_geometric.data import Data
from torch_geometric.loader import DataLoader
from torch_geometric.nn import (
    GATConv,
    GCNConv,
    GINConv,
    SAGEConv,
    global_mean_pool,
)
from torch_geometric.utils import add_self_loops, degree, softmax, to_dense_adj

torch.manual_seed(0)
edges = torch.tensor([[0, 1, 1, 2, 2, 3, 3, 0, 0, 2], [1, 0, 2, 1, 3, 2, 0, 3, 2, 0]])
x = torch.randn(4, 6)
print("degree", *degree(edges[0], 4).int().tolist())
print(f"adjacency {to_dense_adj(edges).sum().item():.6g}")
print(f"softmax {softmax(torch.arange(10.0), edges[1]).square().sum().item():.6g}")
print(f"loops {add_self_loops(edges, num_nodes=4)[0].shape[1]}")


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = GCNConv(6, 8)
        self.second = GATConv(8, 4, heads=2)
        self.third = SAGEConv(8, 8)
        inner = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU())
        self.fourth = GINConv(inner)
        self.last = torch.nn.Linear(8, 2)

    def forward(self, x, edges, batch):
        for layer in (self.first, self.second, self.third, self.fourth):
            x = layer(x, edges).relu()
        return self.last(global_mean_pool(x, batch))


graphs = [
    Data(x=torch.randn(4, 6), edge_index=edges, y=torch.tensor([i % 2]))
    for i in range(8)
]
model = Net()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(4):
    total = 0.0
    for batch in DataLoader(graphs, batch_size=4):
        out = model(batch.x, batch.edge_index, batch.batch)
        loss = torch.nn.functional.cross_entropy(out, batch.y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(f"loss {epoch} {total:.6g}")
model.eval()
one = next(iter(DataLoader(graphs, batch_size=8)))
print(f"out {model(one.x, one.edge_index, one.batch).abs().sum().item():.6g}")
print(f"graph {one.num_nodes} {one.num_edges} {int(one.has_self_loops())}")
