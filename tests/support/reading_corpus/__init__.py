"""Small files (good, dirty, not votes) with their expected outcomes: `CASES`, from the modules beside this file."""

from importlib import import_module
from importlib.util import find_spec

from tests.support.reading_corpus.case import Case

__all__ = ["CASES", "Case"]

MODULES = ("tables", "exports", "dirt")  # each has a tuple CASES


def _cases() -> tuple[Case, ...]:
    names = [f"{__name__}.{module}" for module in MODULES]
    return tuple(case for name in names if find_spec(name) for case in import_module(name).CASES)


CASES = _cases()
