"""Indexing by tensors while a compiler follows a program: transformers names it."""

from ember.backends._switches import nothing as TransformGetItemToIndex

__all__ = ["TransformGetItemToIndex"]
