"""Docstrings of public names: words, an example, and the example does what it shows.

Which namespaces are held to it is the list COMPLETE of tools/doc_coverage.py; examples
that are there are run in all of them.
"""

from __future__ import annotations

import doctest
import inspect
import io
import pickle
import pydoc
import subprocess
import sys
from pathlib import Path

import pytest

import ember
from ember import _C, _reference
from tools import doc_coverage

ROOT = Path(__file__).resolve().parent.parent
OP = type(ember.sum)


def run(name: str, doc: str, namespace: str) -> str:
    """What is wrong with the examples of a docstring.

    They find `ember`, `nn` and `F`, and the names that stand beside their own.
    """
    space = doc_coverage.find(namespace)
    on_top = namespace in ("ember", "ember.Tensor")
    beside = [] if on_top else doc_coverage.public(space)
    globs = {n: getattr(space, n) for n in beside if hasattr(space, n)}
    globs |= {"ember": ember, "nn": ember.nn, "F": ember.nn.functional}
    test = doctest.DocTestParser().get_doctest(doc, globs, name, None, None)
    out = io.StringIO()
    dtype, grad = ember.get_default_dtype(), ember.is_grad_enabled()
    ember.manual_seed(0)
    try:
        doctest.DocTestRunner(verbose=False).run(test, out=out.write)
    finally:
        ember.set_default_dtype(dtype)
        ember.set_grad_enabled(grad)
        ember.set_printoptions(profile="default")
    return out.getvalue()


@pytest.mark.parametrize("namespace", doc_coverage.NAMESPACES)
def test_examples_do_what_they_show(
    namespace: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    wrong = []
    for name in doc_coverage.names(namespace):
        if name.has_example and (text := run(name.full, name.doc, namespace)):
            wrong.append(f"{name.full}\n{text}")
    assert not wrong, f"{len(wrong)} examples:\n" + "\n".join(wrong[:20])


@pytest.mark.parametrize(("namespace", "kind"), doc_coverage.COMPLETE)
def test_every_name_has_words_and_an_example(namespace: str, kind: str) -> None:
    found = [n for n in doc_coverage.names(namespace) if n.kind == kind]
    assert found
    assert not [n.full for n in found if not n.is_complete]


def test_names_without_examples_are_there_and_lack_them() -> None:
    for full in doc_coverage.EXEMPT:
        namespace, _, name = full.rpartition(".")
        assert name in doc_coverage.public(doc_coverage.find(namespace)), full


# --- ops -----------------------------------------------------------------------------


def public_ops() -> list:
    functions = [op for name, op in _C._ops.items() if "._" not in f".{name}"]
    methods = [
        value
        for name, value in vars(ember.Tensor.__mro__[-2]).items()
        if type(value) is OP and not name.startswith("_")
    ]
    assert len(functions) > 600 and len(methods) > 400
    return functions + methods


def test_texts_belong_to_ops() -> None:
    known = {_reference.form_of(op).key for op in public_ops()}
    known |= {_reference.form_of(op).op for op in public_ops()}
    entries, _ = _reference.entries()
    assert not entries.keys() - known
    for name, entry in entries.items():
        assert entry.like is None or entry.like in entries, name


def test_texts_explain_arguments_that_there_are() -> None:
    entries, shared = _reference.entries()
    used: dict[str, set[str]] = {}
    everywhere: set[str] = set()
    for op in public_ops():
        form = _reference.form_of(op)
        for name in {form.key, form.op} & entries.keys():
            names = used.setdefault(name, {"input", "out"})
            names |= {p.name for s in form.schemas for p in s.params}
        everywhere |= {p.name for s in form.schemas for p in s.params}
    for name, entry in entries.items():
        assert not entry.arguments.keys() - used[name], name
    assert not shared.keys() - everywhere - {"input", "out"}


def test_every_argument_is_explained() -> None:
    for op in public_ops():
        form = _reference.form_of(op)
        lacking = [
            n for n, row in _reference.describe_arguments(form).items() if not row[1]
        ]
        assert not lacking, f"{form.path}: {lacking}"


def test_in_place_forms_change_the_tensor_in_their_example() -> None:
    for op in public_ops():
        form = _reference.form_of(op)
        if form.in_place:
            assert f"{form.name}(" in _reference.example_of(form), form.path


def test_whole_classes_and_modules_have_help() -> None:
    for thing in (ember.Tensor, ember.linalg, ember.fft, ember.special):
        assert len(pydoc.render_doc(thing)) > 10_000


def test_methods_found_later_look_like_what_they_are() -> None:
    text = str(inspect.signature(ember.Tensor.to_sparse_csr))
    assert "dense_dim" in text and "self" in text
    assert (ember.Tensor.to_dense.__doc__ or "").startswith("The tensor with all")
    assert pickle.loads(pickle.dumps(ember.Tensor.to_dense)) is ember.Tensor.to_dense


def test_signatures_bind_what_schemas_take() -> None:
    for op in public_ops():
        form = _reference.form_of(op)
        shown = inspect.signature(op)
        assert op.__text_signature__ == str(shown)
        assert (next(iter(shown.parameters), None) == "self") == form.is_method
        for schema in form.schemas:
            given = [p for p in schema.params if p.default is None]
            if len({p.type for p in given}) == len(given) and len(form.schemas) == 1:
                positional = [p for p in given if not p.keyword_only]
                named = {p.name: 0 for p in given if p.keyword_only}
                shown.bind(*[0] * len(positional), **named)


def test_signatures_of_some() -> None:
    def text(op: object) -> str:
        return str(inspect.signature(op))  # type: ignore[arg-type]

    expected = "dim=None, keepdim=False, *, dtype=None"
    assert text(ember.sum) == f"(input, {expected}, out=None)"
    assert text(ember.Tensor.sum) == f"(self, {expected})"
    assert text(ember.ones(2).sum) == f"({expected})"
    assert text(ember.exp_) == "(input)"
    assert text(ember.Tensor.add_) == "(self, other, *, alpha=1)"
    assert text(ember.linalg.solve) == "(A, B, *, left=True, out=None)"
    assert text(ember.Tensor.uniform_) == "(self, from_=0.0, to=1.0, *, generator=None)"
    assert text(ember.where) == "(condition, input=..., other=..., *, out=None)"
    assert (
        text(ember.prod) == "(input, dim=..., keepdim=False, *, dtype=None, out=None)"
    )


def test_docstring_names_overloads_and_arguments() -> None:
    doc = ember.max.__doc__
    assert doc.startswith("ember.max(input, *, out=None) -> Tensor\n")
    assert (
        "ember.max(input, dim, keepdim=False, *, out=None) -> (values, indices)" in doc
    )
    assert "\n    keepdim (bool, default False): " in doc
    assert ember.Tensor.max.__doc__.startswith("Tensor.max() -> Tensor\n")
    assert ember.Tensor.max.__objclass__ is ember.Tensor.__mro__[-2]
    assert not hasattr(ember.max, "__objclass__")


def test_respelling() -> None:
    form = _reference.form_of(ember.Tensor.sum)

    def method(source: str) -> str:
        return _reference._respelt(source, "sum", form)

    assert method("ember.sum(x, 1)") == "x.sum(1)"
    assert method("ember.sum(a + b)") == "(a + b).sum()"
    assert method("y = ember.sum(ember.sum(x, dim=0))") == "y = x.sum(dim=0).sum()"
    assert method("ember.cumsum(x, 1)") == "ember.cumsum(x, 1)"
    function = _reference.form_of(ember.exp_)
    assert _reference._respelt("ember.exp(x)", "exp", function) == "ember.exp_(x)"


def test_import_reads_no_texts() -> None:
    code = "import sys, ember; assert 'ember._reference' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)
