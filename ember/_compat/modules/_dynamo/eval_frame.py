"""See the package: lightning and transformers import the class from here."""

from ember._dynamo import OptimizedModule as OptimizedModule, disable as disable


def is_dynamo_supported() -> bool:
    """False: programs are not followed."""
    return False
