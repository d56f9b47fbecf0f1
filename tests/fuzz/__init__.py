"""Random programs, the same for ember and a reference: see docs/testing.md."""
