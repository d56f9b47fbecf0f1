"""`torch.cuda.sparse.FloatTensor` and its kin: linear_operator asks whether a tensor is
one."""

for _name in (
    "Float",
    "Double",
    "Half",
    "BFloat16",
    "Byte",
    "Char",
    "Short",
    "Int",
    "Long",
):
    globals()[_name + "Tensor"] = type(
        _name + "Tensor", (), {"__module__": "ember.cuda.sparse"}
    )
