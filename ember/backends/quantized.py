"""Libraries of products of small integers: the names; ember has no quantized ops."""

engine = "none"
supported_engines = ["none"]
