"""Neural networks."""

from ember.nn.parameter import Parameter
