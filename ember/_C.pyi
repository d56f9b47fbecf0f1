# Stands in until `make stubs` writes this file from the compiled module.
from typing import Any

def __getattr__(name: str) -> Any: ...
