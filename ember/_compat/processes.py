"""Constants of several processes: lightning imports them."""

from __future__ import annotations

from datetime import timedelta

default_pg_timeout = timedelta(minutes=30)
default_pg_nccl_timeout = timedelta(minutes=10)
