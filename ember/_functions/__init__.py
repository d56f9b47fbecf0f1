"""Functions of the top level that are written in Python, each imported when it is used.

`ember._lazy` says which file has which name. Ops of the core are in `core/ops`, what
`nn.functional` adds to them in `ember/nn/functional`.
"""
