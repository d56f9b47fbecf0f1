"""Nested values: forms, paths, types of one's own, JSON."""

import pickle
from collections import OrderedDict, defaultdict, deque, namedtuple
from dataclasses import dataclass

import pytest

import ember
from ember.utils import _pytree as tree

Point = namedtuple("Point", "x y")
VALUE = {
    "a": 1,
    "b": (2, [3]),
    "c": deque([4], maxlen=3),
    "d": defaultdict(list, {"x": 5}),
    "e": OrderedDict(z=6),
    "f": Point(7, None),
}


def test_leaves_and_back():
    leaves, spec = tree.tree_flatten(VALUE)
    assert leaves == [1, 2, 3, 4, 5, 6, 7, None] and spec.num_leaves == 8
    assert tree.tree_unflatten(leaves, spec) == VALUE
    assert spec == tree.tree_structure(VALUE) and hash(spec)
    assert pickle.loads(pickle.dumps(tree.tree_structure([1, (2,)]))).num_leaves == 2
    with pytest.raises(ValueError, match="has length 1"):
        spec.unflatten([1])


def test_paths_lead_to_their_leaves():
    for path, leaf in tree.tree_leaves_with_path(VALUE):
        assert tree.key_get(VALUE, path) == leaf
    named = tree.tree_map_with_path(
        lambda path, x: tree.keystr(path), {"a": [1], "b": 2}
    )
    assert named == {"a": ["['a'][0]"], "b": "['b']"}


def test_several_trees_must_have_one_form():
    assert tree.tree_map(lambda a, b: a + b, [1, (2,)], [3, (4,)]) == [4, (6,)]
    with pytest.raises(ValueError, match="arity"):
        tree.tree_map(lambda a, b: a, [1, 2], [1])
    with pytest.raises(ValueError, match="type"):
        tree.tree_map(lambda a, b: a, [1, 2], (1, 2))


def test_is_leaf_ends_early():
    leaves = tree.tree_leaves([(1, 2), [3]], is_leaf=lambda x: isinstance(x, tuple))
    assert leaves == [(1, 2), 3]


def test_types_of_ones_own():
    @dataclass
    class Pair:
        a: int
        b: int | None = None

    tree.register_dataclass(Pair)
    assert tree.tree_map(lambda x: x + 1, Pair(1)) == Pair(2)
    assert tree.tree_leaves(Pair(1, 2)) == [1, 2]
    with pytest.raises(ValueError, match="already registered"):
        tree.register_dataclass(Pair)
    tree._deregister_pytree_node(Pair)
    assert tree.tree_is_leaf(Pair(1))


def test_forms_are_written_as_json():
    for value in ({"a": [1, (2,)]}, OrderedDict(a=1), deque([1], 2), [], 3):
        spec = tree.tree_structure(value)
        assert tree.treespec_loads(tree.treespec_dumps(spec)) == spec
    assert tree.treespec_dumps(tree.tree_structure([1])).startswith(
        '[1, {"type": "builtins.list", "context": "null", "children_spec": '
    )


def test_only_some_leaves_change():
    value = [1, "a", ember.ones(1)]
    assert tree.tree_map_only(int, lambda x: x + 1, value)[:2] == [2, "a"]
    assert tree.tree_any_only(str, lambda x: x == "a", value)
    assert tree.tree_all_only(int, lambda x: x == 1, value)


def test_results_of_ops_keep_their_type():
    result = ember.ones(2, 2).max(0)
    again = tree.tree_map(lambda t: t + 1, result)
    assert type(again) is type(result) and again.values.tolist() == [2, 2]
