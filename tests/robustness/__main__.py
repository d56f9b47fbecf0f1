"""`python -m tests.robustness [--rounds N] [--seed S] [--only NAME]`: many rounds."""

import argparse
import importlib

from tests import robustness


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, help="of each scenario; 200 by default")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", choices=robustness.SCENARIOS, action="append")
    options = parser.parse_args()
    for name in options.only or robustness.SCENARIOS:
        if reason := robustness.missing(name):
            print(f"{name}: left out, {reason}")
            continue
        module = importlib.import_module(f"tests.robustness.{name}")
        rounds = options.rounds or getattr(module, "ROUNDS", 200)
        found = robustness.run(name, rounds, options.seed, print)
        for what, count in sorted(found.items()):
            print(f"{count:6} {name}: {what}")


if __name__ == "__main__":
    main()
