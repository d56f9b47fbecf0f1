"""Helpers around modules: packed sequences."""

from ember.nn.utils import rnn
