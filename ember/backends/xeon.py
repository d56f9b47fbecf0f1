"""A launcher for Intel's processors: not part of ember."""
