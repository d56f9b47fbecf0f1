"""Modules with parameters or with a state of training; convolution and pooling."""

from ember.legacy.nn.layers.convolution import *
from ember.legacy.nn.layers.elementwise import *
from ember.legacy.nn.layers.linear import *
from ember.legacy.nn.layers.noise import *
from ember.legacy.nn.layers.normalization import *
from ember.legacy.nn.layers.pooling import *
