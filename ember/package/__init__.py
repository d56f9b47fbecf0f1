"""Archives of models with their code: the names; see `ember.save`."""

from ember import _lazy, _unavailable

_unavailable.fill(
    globals(),
    "package",
    "ember does not write archives of code; save the state_dict with ember.save",
    "Directory GlobGroup Importer OrderedImporter PackageExporter PackageImporter",
)


class EmptyMatchError(Exception):
    """A pattern that matches nothing."""


class PackagingError(Exception):
    """What cannot be packed."""


class ObjNotFoundError(Exception):
    """An object that is not where its module says."""


class ObjMismatchError(Exception):
    """Another object where its module says."""


def is_from_package(obj: object) -> bool:
    """False: no archive can be opened."""
    return False


sys_importer = None
__getattr__ = _lazy.missing(__name__)
