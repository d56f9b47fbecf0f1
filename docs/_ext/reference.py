"""Writes the reference before Sphinx reads it: docs/api, a page per public name.

What is public comes from `tools/public_names.py`, signatures from `inspect` and, for
ops, from the schemas that their docstrings begin with. A docstring is plain text:
paragraphs with `code`, lists, examples with `>>>`, indented code, and sections whose
title ends in a colon (`Args:`). The pages of names are no part of the tree of
contents, which would then be repeated on thousands of pages; they are found by the
page of their namespace, by links between them and by the search.
"""

from __future__ import annotations

import functools
import inspect
import re
import sys
import textwrap
from collections import defaultdict
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parent.parent
ROOT = DOCS.parent
sys.path.insert(0, str(ROOT))

from tools import public_names  # noqa: E402
from tools.public_names import Namespace  # noqa: E402

OUT = DOCS / "api"
SCHEMA = re.compile(r"^[\w.]+\(.*\)( -> .+)?$")
SECTION = re.compile(
    r"^(Args|Arguments|Parameters|Shapes?|Attributes|Inputs?|Outputs?|Returns|Yields|"
    r"Raises|Notes?|Examples?|Members|Variables|See also):$"
)
ITEM = re.compile(r"^(\*{0,2}\w[\w., *]*?)(?: \(([^()]*)\))?: (.*)$")
CODE = re.compile(r"(``.+?``|`[^`\n]+`)", re.DOTALL)
OPERATORS = {"__init__", "__call__"}


# --- Docstrings to reStructuredText ---------------------------------------------------


def prose(text: str) -> str:
    """Text of a docstring as reStructuredText: only `code` is markup."""
    parts = CODE.split(text)
    for i, part in enumerate(parts):
        if i % 2:
            inner = part.strip("`").replace("\n", " ")
            parts[i] = f"``{inner}``" if inner == inner.strip() else inner
        else:
            parts[i] = re.sub(r"([\\*|_<>`])", r"\\\1", part)
    for i in range(1, len(parts), 2):
        # Code that touches a letter, as in `x`s, needs a break that is not seen.
        if re.search(r"[\w)]$", parts[i - 1]):
            parts[i - 1] += "\\ "
        if re.match(r"\w", parts[i + 1]):
            parts[i + 1] = "\\ " + parts[i + 1]
    return "".join(parts)


def indented(text: str, by: int = 3) -> str:
    return textwrap.indent(text, " " * by)


def code_block(text: str, language: str) -> str:
    return f".. code-block:: {language}\n\n{indented(textwrap.dedent(text).strip())}"


def definitions(lines: list[str]) -> str | None:
    """The lines of a section `name: what it is` as a list of fields."""
    rows: list[list[str]] = []
    for line in lines:
        if not line.strip():
            continue
        match = ITEM.match(line)
        if match and not line.startswith(" "):
            rows.append([match[1], match[2] or "", match[3]])
        elif rows and line.startswith(" "):
            rows[-1][2] += " " + line.strip()
        else:
            return None
    out = []
    for name, kind, what in rows:
        note = f" ({prose(kind)})" if kind else ""
        out.append(f"* ``{name}``{note}: {prose(what)}")
    return "\n".join(out)


def body(doc: str) -> str:
    """A docstring, without its schemas, as reStructuredText."""
    blocks: list[str] = []
    lines = doc.splitlines()
    i = 0
    while i < len(lines):
        if not lines[i].strip():
            i += 1
            continue
        block = [lines[i]]
        i += 1
        if SECTION.match(block[0].strip()) and not block[0].startswith(" "):
            inner = []
            while i < len(lines) and (not lines[i].strip() or lines[i][0] == " "):
                inner.append(lines[i])
                i += 1
            text = textwrap.dedent("\n".join(inner)).strip("\n")
            rows = definitions(text.splitlines())
            blocks.append(f".. rubric:: {block[0].strip()[:-1]}")
            blocks.append(rows if rows is not None else body(text))
            continue
        while i < len(lines) and lines[i].strip():
            block.append(lines[i])
            i += 1
        text = textwrap.dedent("\n".join(block))
        if text.startswith(">>>"):
            blocks.append(code_block(text, "pycon"))
        elif block[0].startswith("    "):
            blocks.append(code_block("\n".join(block), "text"))
        elif all(re.match(r"[-*] |  ", line) for line in text.splitlines()):
            items = [
                prose(line[2:]) if line[0] in "-*" else prose(line.strip())
                for line in text.splitlines()
            ]
            starts = [line[0] in "-*" for line in text.splitlines()]
            blocks.append(
                "\n".join(
                    ("* " if new else "  ") + item for new, item in zip(starts, items)
                )
            )
        elif re.match(r"=+ +=+", text):  # a table is one already
            blocks.append(text)
        elif ">>>" in text:  # an example right below a sentence
            cut = text.index(">>>")
            blocks.append(prose(text[:cut].strip()))
            blocks.append(code_block(text[cut:], "pycon"))
        else:
            blocks.append(prose(text))
    return "\n\n".join(blocks)


# --- Signatures -----------------------------------------------------------------------


def own_doc(value: Any) -> str:
    doc = inspect.getdoc(value)
    return doc if isinstance(doc, str) else ""


def split_schemas(value: Any) -> tuple[list[str], str]:
    """The schemas that the docstring of an op begins with, and the rest."""
    lines = own_doc(value).splitlines()
    schemas = []
    while lines and SCHEMA.match(lines[0]) and not isinstance(value, type):
        schemas.append(lines.pop(0).split("(", 1)[1])
    return ["(" + each for each in schemas], "\n".join(lines).strip("\n")


def signature_of(value: Any) -> str | None:
    try:
        found = inspect.signature(value, eval_str=True)
    except Exception:  # an annotation names what is not there at run time
        try:
            found = inspect.signature(value)
        except (TypeError, ValueError):
            return None
    text = str(found).removesuffix(" -> None")
    text = re.sub(r"\b(?:[a-z_]\w*\.)+[A-Za-z_]\w*", public_type, text)
    text = re.sub(r"<([\w ]+?)(?: at 0x[0-9a-f]+|: [^>]*)?>", r"\1", text)
    text = text.replace("'Any'", "Any").replace("~", "")
    return re.sub(r"(: |-> )'([^']*)'", r"\1\2", text)


@functools.cache
def homes() -> dict[str, str]:
    """Where a class is defined -> its public name."""
    found: dict[str, str] = {}
    for space in public_names.namespaces().values():
        for name, value in space.members.items():
            if isinstance(value, type):
                inner = f"{value.__module__}.{value.__qualname__}"
                outer = f"{space.name}.{name}"
                found[inner] = min(found.get(inner, outer), outer, key=len)
    return found


def public_type(match: re.Match) -> str:
    """A type of an annotation as users write it."""
    return homes().get(match[0], match[0].rpartition(".")[2])


def signatures(value: Any) -> list[str]:
    if isinstance(value, property) or not callable(value):
        return [""]
    schemas, _ = split_schemas(value)
    found = signature_of(value)
    if schemas and found in (None, "(*args, **kwargs)", "(self, /, *args, **kwargs)"):
        return schemas
    return [found if found is not None else "(...)"]


def first_line(value: Any) -> str:
    """The first sentence or paragraph of what a name does."""
    paragraph = split_schemas(value)[1].split("\n\n")[0].replace("\n", " ").strip()
    if paragraph.startswith(">>>"):
        return ""
    return re.split(r"(?<=[a-z)`])[.:;] ", paragraph)[0].removesuffix(".")


def source_of(value: Any) -> str | None:
    try:
        path = Path(inspect.getsourcefile(inspect.unwrap(value)) or "").resolve()
        return path.relative_to(ROOT).as_posix()
    except (TypeError, ValueError, OSError):
        return None


# --- Pages ----------------------------------------------------------------------------


def kind_of(value: Any) -> str:
    if isinstance(value, type):
        exception = issubclass(value, BaseException)
        return "exception" if exception else "class"
    return "function" if callable(value) else "attribute"


def described(value: Any, name: str, directive: str, nested: str = "") -> str:
    """The directive of a name, with signatures and docstring."""
    heads = [f"{name}{signature}" for signature in signatures(value)]
    first, *more = heads
    start = f".. py:{directive}:: "
    lines = [start + first, *(" " * len(start) + each for each in more)]
    text = body(split_schemas(value)[1])
    inside = "\n\n".join(part for part in (text, nested) if part)
    return "\n".join(lines) + "\n\n" + indented(inside) + "\n"


def class_members(cls: type) -> str:
    """Methods and properties that the class itself or a base that is not public has."""
    out = []
    for name, value in vars(cls).items():
        if name.startswith("_") and name not in OPERATORS - {"__init__"}:
            continue
        if isinstance(value, staticmethod | classmethod):
            value = value.__func__
        if isinstance(value, property):
            if own_doc(value):
                out.append(described(value, name, "property"))
        elif inspect.isfunction(value) and value.__doc__:
            out.append(described(value, name, "method"))
    return "\n\n".join(out)


def heading(text: str) -> str:
    return f"{text}\n{'=' * len(text)}\n"


def object_page(space: Namespace, name: str, value: Any, also: list[str]) -> str:
    full = f"{space.name}.{name}"
    kind = kind_of(value)
    if space.name == "ember.Tensor":
        kind = "method" if callable(value) else "property"
    nested = class_members(value) if isinstance(value, type) else ""
    notes = [f":doc:`{space.name} <{space.name}>`"]
    if isinstance(value, type):
        bases = [b.__name__ for b in value.__bases__ if b is not object]
        if bases:
            notes.append("extends " + ", ".join(f"``{b}``" for b in bases))
    source = source_of(value)
    if source:
        notes.append(f"written in ``{source}``")
    parts = [":orphan:\n", heading(name), " · ".join(notes)]
    parts.append(described(value, full, kind, nested))
    if also:
        parts.append(
            "See also: " + ", ".join(f":doc:`{page} <{page}>`" for page in also)
        )
    return "\n\n".join(parts) + "\n"


def table(rows: list[tuple[str, str]]) -> str:
    lines = [".. list-table::", "   :widths: 35 65", ""]
    for left, right in rows:
        lines += [f"   * - {left}", f"     - {right}"]
    return "\n".join(lines)


def namespace_page(space: Namespace, inner: list[str]) -> str:
    parts = [
        heading(space.name),
        body(space.doc.split("\nNote [")[0]),
    ]  # of readers
    if inner:
        entries = "\n".join(f"   {page}" for page in inner)
        parts.append(f".. toctree::\n   :titlesonly:\n\n{entries}")
    groups: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for name, value in sorted(space.members.items()):
        page = f"{space.name}.{name}"
        kind = kind_of(value)
        title = "Classes" if kind in ("class", "exception") else "Functions"
        if space.name == "ember.Tensor":
            title = "Methods" if callable(value) else "Properties"
        row = (f":doc:`{name} <{page}>`", prose(first_line(value)))
        groups[title].append(row)
    for title in ("Classes", "Properties", "Functions", "Methods"):
        if groups[title]:
            parts.append(f".. rubric:: {title}\n\n{table(groups[title])}")
    if space.constants:
        rows = [
            (f"``{name}``", f"``{value}``")
            for name, value in sorted(space.constants.items())
        ]
        parts.append(f".. rubric:: Values\n\n{table(rows)}")
    return "\n\n".join(part for part in parts if part) + "\n"


def nearest_above(name: str, spaces: dict[str, Namespace]) -> str | None:
    parent = name.rpartition(".")[0]
    while parent and parent not in spaces:
        parent = parent.rpartition(".")[0]
    return parent or None


def index_page(top: list[str]) -> str:
    entries = "\n".join(f"   {page}" for page in top)
    return (
        heading("Reference")
        + "\nA page for every public name, by namespace. "
        + "The search finds each by its name.\n"
        + f"\n.. toctree::\n   :titlesonly:\n\n{entries}\n"
    )


def pages() -> dict[str, str]:
    """File name -> contents."""
    spaces = public_names.namespaces()
    inner: dict[str | None, list[str]] = defaultdict(list)
    for name in sorted(spaces):
        inner[nearest_above(name, spaces)].append(name)
    # What is directly below `ember` stands beside it: the tree has one level less.
    top = ["ember", *(inner.pop("ember"))]
    same = defaultdict(list)
    for space in spaces.values():
        for name in space.members:
            same[name.lower().strip("_")].append(f"{space.name}.{name}")
    out = {"index.rst": index_page(top)}
    for space in spaces.values():
        out[f"{space.name}.rst"] = namespace_page(space, inner.get(space.name, []))
        for name, value in space.members.items():
            if f"{space.name}.{name}" in spaces:
                continue  # the class Tensor is a namespace
            full = f"{space.name}.{name}"
            also = [
                each
                for each in same[name.lower().strip("_")]
                if each != full and not each.startswith("ember.legacy")
            ]
            out[f"{full}.rst"] = object_page(space, name, value, also[:8])
    return out


def write(app: Any) -> None:
    OUT.mkdir(exist_ok=True)
    written = pages()
    for old in OUT.glob("*.rst"):
        if old.name not in written:
            old.unlink()
    for name, text in written.items():
        path = OUT / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


# --- The sidebar ----------------------------------------------------------------------

_sidebars: dict[tuple, str] = {}


def sidebar(app: Any, page: str, template: str, context: dict, doctree: Any) -> None:
    """Gives the page of a name the sidebar of its namespace, which is made once.

    Made anew for each, it would be nine tenths of the time that the site takes.
    """
    if not page.startswith("api/") or "orphan" not in app.env.metadata[page]:
        return
    namespace = page.rpartition(".")[0]
    if namespace not in app.env.all_docs:
        return

    def toctree(**options: Any) -> str:
        key = (namespace, *sorted(options.items()))
        if key not in _sidebars:
            html = str(app.builder._get_local_toctree(namespace, **options))
            link = f'href="{namespace.removeprefix("api/")}.html"'
            _sidebars[key] = html.replace('href="#"', link)
        return _sidebars[key]

    context["toctree"] = toctree


def setup(app: Any) -> dict[str, Any]:
    app.connect("builder-inited", write)
    app.connect("html-page-context", sidebar, priority=100)  # before the theme asks
    return {"parallel_read_safe": True, "parallel_write_safe": True}
