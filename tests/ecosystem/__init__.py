"""Libraries written for PyTorch, on ember: a program for each, `make ecosystem`.

`programs/` has the programs. Each trains, evaluates and saves a small model and prints
numbers; `expected/` has those that PyTorch printed. `__main__` makes an environment,
installs the libraries, runs the programs, compares the numbers and writes
docs/ecosystem.md. Pytest does not collect any of it.
"""
