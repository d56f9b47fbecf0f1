"""Where extensions are compiled, under PyTorch's private name."""

import os

from ember.utils import cpp_extension


def _get_build_directory(name: str, verbose: bool) -> str:
    """The folder for an extension, which is made."""
    folder = cpp_extension._build_directory(name)
    os.makedirs(folder, exist_ok=True)
    if verbose:
        print(f"Using {folder} as the folder of extension {name}")
    return folder
