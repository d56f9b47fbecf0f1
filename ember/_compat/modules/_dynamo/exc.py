"""The errors of `compile`."""

from ember.compiler._face.errors import *  # noqa: F403
