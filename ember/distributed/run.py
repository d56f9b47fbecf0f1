"""Starts a program in several processes, on one host or many.

    emberrun --nproc-per-node 4 train.py --epochs 3
    emberrun --nnodes 2 --nproc-per-node 8 --rdzv-endpoint first-host:29400 train.py
    python -m ember.distributed.run ...

Each process has RANK, WORLD_SIZE, LOCAL_RANK and what else torchrun sets, and
`ember.distributed.init_process_group()` needs no more. If a process fails, all are
ended and, with --max-restarts, started again: a program that loads its last checkpoint
goes on. With --nnodes LEAST:MOST hosts may come and go.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

from ember.distributed.elastic._agent import SignalException
from ember.distributed.elastic._workers import Std
from ember.distributed.elastic.multiprocessing.errors import ChildFailedError
from ember.distributed.launcher.api import LaunchConfig, launch_agent


class _Both(argparse.Action):
    """An option that the environment has a default for: PET_NNODES for --nnodes."""

    def __init__(self, option_strings: Sequence[str], dest: str, **options: Any):
        default = os.environ.get(f"PET_{dest.upper()}", options.pop("default", None))
        super().__init__(option_strings, dest, default=default, **options)

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        setattr(namespace, self.dest, values)


class _Flag(_Both):
    def __init__(self, option_strings: Sequence[str], dest: str, **options: Any):
        super().__init__(option_strings, dest, nargs=0, **options)
        if isinstance(self.default, str):
            self.default = self.default not in ("", "0")

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        setattr(namespace, self.dest, True)


# name, default, help; names have a form with underscores too
_OPTIONS = (
    ("nnodes", "1:1", "how many hosts: a number, or LEAST:MOST"),
    ("nproc-per-node", "1", "workers on each host: a number, 'auto' or 'cpu' (cores)"),
    ("rdzv-backend", "static", "how hosts meet: 'static' (by --node-rank) or 'c10d'"),
    ("rdzv-endpoint", "", "HOST[:PORT] where hosts meet"),
    ("rdzv-id", "none", "a name that the hosts of a run have in common"),
    ("rdzv-conf", "", "further settings: join_timeout=60,last_call_timeout=3"),
    ("max-restarts", "0", "how often failed workers are started again"),
    ("monitor-interval", "0.1", "seconds between looks at the workers"),
    ("start-method", "spawn", "how functions are started as processes"),
    ("role", "default", "a name for the workers, shown with their output"),
    ("log-dir", None, "where the output of workers is kept"),
    ("local-ranks-filter", "", "show the output of these local ranks only: 0,2"),
    ("node-rank", None, "the number of this host (static)"),
    ("master-addr", "127.0.0.1", "the first host (static)"),
    ("master-port", "29500", "its port (static)"),
    ("local-addr", None, "the name of this host for the others"),
    ("signals-to-handle", "SIGTERM,SIGINT,SIGHUP,SIGQUIT", "what ends the workers"),
    ("event-log-handler", "null", "accepted, and not used"),
    ("logs-specs", None, "accepted, and not used"),
    ("numa-binding", None, "accepted, and not used"),
)
_FLAGS = (
    ("standalone", "one host, any free port; other processes may do the same"),
    ("no-python", "the program is a command of its own"),
    ("run-path", "run the script within this interpreter's runpy"),
    ("virtual-local-rank", "every worker sees LOCAL_RANK 0"),
)


def get_args_parser() -> argparse.ArgumentParser:
    """The parser of the command line."""
    parser = argparse.ArgumentParser(
        prog="emberrun",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )

    def spellings(name: str) -> list[str]:
        return list(dict.fromkeys([f"--{name}", f"--{name.replace('-', '_')}"]))

    for name, default, text in _OPTIONS:
        parser.add_argument(*spellings(name), action=_Both, default=default, help=text)
    for name, text in _FLAGS:
        parser.add_argument(*spellings(name), action=_Flag, default=False, help=text)
    parser.add_argument(
        "-m",
        "--module",
        action="store_true",
        help="the program is a module, as for python -m",
    )
    for short, name, text in (
        ("-r", "redirects", "to files: 1 stdout, 2 stderr, 3 both; or RANK:NUMBER,..."),
        ("-t", "tee", "the same, and to the screen"),
    ):
        parser.add_argument(short, f"--{name}", action=_Both, default="0", help=text)
    parser.add_argument(
        "training_script", help="the program, followed by its arguments"
    )
    parser.add_argument("training_script_args", nargs=argparse.REMAINDER)
    return parser


def parse_args(args: Sequence[str] | None) -> argparse.Namespace:
    """The options of a command line."""
    return get_args_parser().parse_args(args)


def parse_min_max_nnodes(nnodes: str) -> tuple[int, int]:
    """ "2" or "1:4" as least and most.

    >>> parse_min_max_nnodes("1:4")
    (1, 4)
    """
    parts = nnodes.split(":")
    if len(parts) > 2:
        raise RuntimeError(f'nnodes={nnodes} is not in "MIN:MAX" format')
    return int(parts[0]), int(parts[-1])


def determine_local_world_size(nproc_per_node: str) -> int:
    """Workers of a host, by a number or a word."""
    if nproc_per_node.isdigit():
        return int(nproc_per_node)
    if nproc_per_node in ("auto", "cpu"):
        return os.cpu_count() or 1
    if nproc_per_node in ("gpu", "xpu", "cuda"):
        raise ValueError(f"--nproc-per-node {nproc_per_node}: there is no such device")
    raise ValueError(f"Unsupported nproc_per_node value: {nproc_per_node}")


def _settings(text: str) -> dict[str, str]:
    """ "a=1,b=2" as a dict."""
    pairs = [pair.partition("=") for pair in text.split(",") if pair.strip()]
    for key, equal, _ in pairs:
        if not equal:
            raise ValueError(f"--rdzv-conf: expected KEY=VALUE, got {key!r}")
    return {key.strip(): value.strip() for key, _, value in pairs}


def config_from_args(
    args: argparse.Namespace,
) -> tuple[LaunchConfig, Callable[..., Any] | str, list[str]]:
    """What to run and how: the configuration, the program and its arguments."""
    least, most = parse_min_max_nnodes(args.nnodes)
    endpoint, backend = args.rdzv_endpoint, args.rdzv_backend
    rank = None if args.node_rank is None else int(args.node_rank)
    if args.standalone:
        endpoint, backend, least, most, rank = "127.0.0.1:0", "c10d", 1, 1, None
    elif backend == "static" and not endpoint:
        port = args.master_port if most > 1 or args.master_port != "29500" else "0"
        endpoint = f"{args.master_addr}:{port}"
    shown = {int(r) for r in args.local_ranks_filter.split(",") if r.strip()}
    config = LaunchConfig(
        min_nodes=least,
        max_nodes=most,
        nproc_per_node=determine_local_world_size(args.nproc_per_node),
        run_id="" if args.rdzv_id == "none" and most == 1 else args.rdzv_id,
        role=args.role,
        rdzv_endpoint=endpoint,
        rdzv_backend=backend,
        rdzv_configs=_settings(args.rdzv_conf),
        max_restarts=int(args.max_restarts),
        monitor_interval=float(args.monitor_interval),
        start_method=args.start_method,
        log_dir=args.log_dir,
        redirects=Std.from_str(args.redirects),
        tee=Std.from_str(args.tee),
        local_ranks_filter=shown or None,
        node_rank=rank,
        local_addr=args.local_addr,
        virtual_local_rank=args.virtual_local_rank,
        signals_to_handle=args.signals_to_handle.split(","),
    )
    command, rest = _command(args)
    return config, command, rest


def _command(args: argparse.Namespace) -> tuple[str, list[str]]:
    script, given = args.training_script, list(args.training_script_args)
    if args.no_python:
        if args.module:
            raise ValueError(
                "Don't use both the '--no-python' flag and the '--module' flag at the "
                "same time."
            )
        return script, given
    if args.run_path:
        code = "import runpy, sys; sys.argv = sys.argv[1:]; "
        code += "runpy.run_path(sys.argv[0], run_name='__main__')"
        return sys.executable, ["-u", "-c", code, script, *given]
    module = ["-m"] if args.module else []
    return sys.executable, ["-u", *module, script, *given]


def run(args: argparse.Namespace) -> None:
    """Run a program as the options say."""
    config, command, rest = config_from_args(args)
    launch_agent(config, command, rest)


def main(args: Sequence[str] | None = None) -> None:
    """The command `emberrun`."""
    try:
        run(parse_args(args))
    except ChildFailedError as error:
        print(error, file=sys.stderr)
        sys.exit(1)
    except SignalException as told:
        print(f"emberrun: {told}", file=sys.stderr)
        sys.exit(128 + told.sigval)
    except (ValueError, RuntimeError) as error:
        print(f"emberrun: {error}", file=sys.stderr)
        sys.exit(1)


if __name__ == "__main__":
    main()
