"""Docstrings of numpydoc, made from short ones: lines such as `name (type): what it is`, after the
first paragraph.

Types and defaults come from the code unless they are in brackets. Sections that are written out
(Examples) come last. Commands show none and do not wait for them: there, they are made when Python
asks for a name of `finegold`.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from functools import partial
from inspect import get_annotations
from typing import Any, ClassVar, TypeVar

from finegold.options import list_options

__all__ = ["Documented", "documented", "make_docstrings", "postpone", "postpone_docstrings"]

T = TypeVar("T", bound=Callable[..., Any])

# the type, if it is given, and the description of a name
Said = dict[str, tuple[str, str]]

NAMES = r"\*{0,2}\w+(?:, \*{0,2}\w+)*"
# further lines are indented
ENTRY = re.compile(rf"^({NAMES})(?: \((.+?)\))?: (.*(?:\n    .*)*)\n?", re.MULTILINE)
SECTION = re.compile(r"^\w+(?: \w+)?\n-{3,}$", re.MULTILINE)
DEFAULT = re.compile(", (optional|default )")
# others are a pandas.Series
FRAMES = dict.fromkeys(("data", "answers", "probas_", "scores_"), "pandas.DataFrame")
VOTES = dict.fromkeys(
    ("data", "answers"), ("", "The votes, with the columns task, worker and label.")
)
MORE = "*args, **kwargs : object\n    Further arguments of `fit`."
NO_DEFAULT = inspect.Parameter.empty


# None: docstrings are made at once
_postponed: list[Callable[[], None]] | None = None


def postpone_docstrings() -> None:
    """From now on, make docstrings when `make_docstrings` is called."""
    global _postponed
    _postponed = _postponed or []


def postpone(make: Callable[[], None]) -> None:
    """Make a docstring now, or later if `postpone_docstrings` has been called."""
    if _postponed is None:
        make()
    else:
        _postponed.append(make)


def make_docstrings() -> None:
    """Make the docstrings of all that has been imported, and from now on those of what is imported."""
    global _postponed
    waiting, _postponed = _postponed or [], None
    for make in waiting:
        make()


def documented(thing: T, arguments: Said = VOTES, options: Any = None) -> T:
    """Expand the docstring of a function, or that of a class, which describes attributes, and of
    its methods.
    """
    # arguments: descriptions of arguments that several functions have. options: a dataclass of
    # further keywords.
    postpone(partial(_expand, thing, arguments, options))
    return thing


def _expand(thing: Any, arguments: Said, options: Any = None) -> None:
    words, said = _parse(thing.__doc__)
    if isinstance(thing, type):
        annotations = {
            name: kind
            for base in thing.__mro__[::-1]
            for name, kind in get_annotations(base).items()
        }
        code = {
            name: (str(annotations.get(name, "Any")), NO_DEFAULT)
            for each in said
            for name in each.split(", ")
        }
        sections = {"Attributes": _entries(said, code)}
        _expand_methods(thing, arguments)
    else:
        signature = inspect.signature(thing)
        code = {
            each.name: (str(each.annotation), each.default)
            for each in signature.parameters.values()
        }
        code |= {name: ("dict", NO_DEFAULT) for name in code if f"**{name}" in said}
        known = (
            {}
            if "X, data" in said
            else {name: arguments[name] for name in code if name in arguments}
        )
        sections = {"Parameters": _entries(known | said, code) + ([MORE] if "args" in code else [])}
        if options is not None:
            sections["Parameters"].append("\n" + list_options(options))
        if returned := re.search(r"\(`(\w+_)`\)", words):
            said.setdefault(
                "Returns",
                (FRAMES.get(returned[1], "pandas.Series"), f"The attribute `{returned[1]}`."),
            )
        elif signature.return_annotation == "Self":
            said.setdefault("Returns", ("self", "The fitted aggregator."))
        for name in ("Returns", "Raises"):
            if name in said:
                kind = said[name][0] or str(signature.return_annotation).replace(" | ", " or ")
                sections[name] = [f"{kind}\n    {said[name][1]}"]
    # Python may run without docstrings
    thing.__doc__ = thing.__doc__ and _page(words, sections)


def _expand_methods(cls: type, arguments: Said = VOTES) -> None:
    for name, member in vars(cls).items():
        # also of a class method
        method = getattr(member, "__func__", member)
        if inspect.isfunction(method) and not name.startswith("_"):
            _expand(method, arguments)


class Documented:
    """A class whose docstring describes settings, and attributes that end with _; subclasses
    inherit descriptions.
    """

    _said: ClassVar[Said] = {}

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        words, own = _parse(cls.__doc__)
        cls._said = {**cls._said, **own}
        annotations = {
            name: kind for base in cls.__mro__[::-1] for name, kind in get_annotations(base).items()
        }
        code = {name: (kind, getattr(cls, name, NO_DEFAULT)) for name, kind in annotations.items()}
        attributes = {name: ("Any", NO_DEFAULT) for name in cls._said if name.endswith("_")}
        settings = {name: words for name, words in cls._said.items() if name not in attributes}
        sections = {
            "Parameters": _entries(settings, code),
            "Attributes": _entries(cls._said, attributes),
        }
        cls.__doc__ = cls.__doc__ and _page(words, sections)
        _expand_methods(cls)


def _parse(text: str | None) -> tuple[str, Said]:
    """Return a docstring without the lines about names, and what these say."""
    first, _, rest = inspect.cleandoc(text or "").partition("\n\n")
    written = SECTION.search(rest)
    rest, sections = (rest[: written.start()], rest[written.start() :]) if written else (rest, "")
    said = {name: (kind, words) for name, kind, words in ENTRY.findall(rest)}
    return "\n\n".join(filter(None, (first, ENTRY.sub("", rest).strip(), sections))), said


def _entries(said: Said, code: Mapping[str, tuple[str, Any]]) -> list[str]:
    """Return what numpydoc shows of the names that the code has."""
    entries = []
    for name, (kind, words) in said.items():
        annotation, default = code.get(name.partition(",")[0].lstrip("*"), ("", None))
        if not annotation:
            continue
        known = FRAMES.get(name, "pandas.Series") if annotation == "Any" else annotation
        known = re.sub(r"Literal\[(.*)\]", r"{\1}", known).replace("'", '"')
        if default is not NO_DEFAULT:
            known = known.removesuffix(" | None")
        known = kind or known.replace(" | ", " or ")
        if not DEFAULT.search(known) and (default is None or default == ()):
            known += ", optional"
        elif not DEFAULT.search(known) and default is not NO_DEFAULT:
            value = getattr(default, "__name__", repr(default)).replace("'", '"')
            known += f", default {value}"
        entries.append(f"{name} : {known}\n    {words}")
    return entries


def _page(words: str, sections: Mapping[str, list[str]]) -> str:
    used = {title: entries for title, entries in sections.items() if entries}
    parts = ("\n".join([title, "-" * len(title), *entries]) for title, entries in used.items())
    written = SECTION.search(words)
    before, after = (
        (words[: written.start()].rstrip(), [words[written.start() :]]) if written else (words, [])
    )
    return "\n\n".join([before, *parts, *after])
