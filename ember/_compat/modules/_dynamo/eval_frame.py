"""See the package: lightning and transformers import the class from here."""

from ember._dynamo import OptimizedModule as OptimizedModule
from ember._dynamo import disable as disable
