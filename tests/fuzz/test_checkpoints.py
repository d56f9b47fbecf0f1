"""A short run of the fuzzer of checkpoints."""

import warnings

from tests.fuzz import checkpoints


def test_damaged_checkpoints_give_exceptions():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = checkpoints.run(1500, seed=1)
    assert sum(found.values()) == 1500
    kinds = {name for name, _ in found}
    assert len(kinds) == 6
    # Not all damage is noticed (a changed weight is a weight), but most of it is.
    assert sum(n for (_, what), n in found.items() if what != "loaded") > 500


def test_files_made_to_do_harm_are_refused():
    assert checkpoints.run_attacks().total() > 400
