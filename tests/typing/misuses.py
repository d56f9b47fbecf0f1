"""What a type checker has to refuse: every line that ends in "wrong", and no other."""

import ember
import ember.nn.functional as F
from ember import nn, optim

x = ember.zeros(2, 3)

ember.ziros(2)  # wrong
F.rellu(x)  # wrong
nn.Linera(2, 2)  # wrong
optim.Adamm([x])  # wrong
ember.linalg.nrom(x)  # wrong
nn.Linear("2", 3)  # wrong
nn.Linear(2)  # wrong
nn.Linear(2, 3, biass=True)  # wrong
F.softmax(x, dim="last")  # wrong
x.reshap(6)  # wrong
x.sum(dim="rows")  # wrong
n: int = x.sum()  # wrong
x.max(dim=1).vals  # wrong
x.size(0).foo  # wrong
ember.stack(x, dims=1)  # wrong
optim.SGD([x], lr="fast")  # wrong
ember.manual_seed("seed")  # wrong
x.backward(retain_grph=True)  # wrong
