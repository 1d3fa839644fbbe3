"""The sections of the report and of the studio: a function of a result and a template for each."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from finegold.report.sections.annotators import annotators
from finegold.report.sections.classes import classes, prototypes
from finegold.report.sections.common import Subject, View
from finegold.report.sections.quality import agreement, quality
from finegold.report.sections.record import reading, record
from finegold.report.sections.scales import scores
from finegold.report.sections.sets import options, pairs, set_annotators, set_tasks
from finegold.report.sections.tasks import tasks

__all__ = ["SECTIONS", "Section", "Subject", "sections_of"]


class Section(NamedTuple):
    """`make` returns the values that the template shows."""

    # in the navigation
    title: str
    make: Callable[[Subject], View]
    applies: Callable[[Subject], bool]


def _is_single(subject: Subject) -> bool:
    return subject.result.label_sets is None


def _is_crowd(subject: Subject) -> bool:
    return _is_single(subject) and subject.judges is None


def _has_prototypes(subject: Subject) -> bool:
    return _is_crowd(subject) and subject.result.learned.prototypes is not None


# by the name of the template and of the section's element
SECTIONS = {
    "quality": Section("Labels", quality, _is_single),
    "reading": Section("Votes", reading, _is_single),
    "judges": Section("Judges", lambda about: about.judges or {}, lambda about: bool(about.judges)),
    "tasks": Section("Tasks", tasks, _is_single),
    "scores": Section("Scores", scores, lambda about: about.scores and _is_single(about)),
    "annotators": Section("Annotators", annotators, _is_crowd),
    "prototypes": Section("Prototypes", prototypes, _has_prototypes),
    "classes": Section("Classes", classes, _is_single),
    "agreement": Section("Agreement", agreement, _is_crowd),
    "options": Section("Options", options, lambda about: not _is_single(about)),
    "set-tasks": Section("Tasks", set_tasks, lambda about: not _is_single(about)),
    "set-annotators": Section("Annotators", set_annotators, lambda about: not _is_single(about)),
    "pairs": Section("Annotators by option", pairs, lambda about: not _is_single(about)),
    "record": Section("Method", record, lambda about: True),
}


def sections_of(subject: Subject) -> list[str]:
    """Return the names of the sections that apply, in their order."""
    return [name for name, section in SECTIONS.items() if section.applies(subject)]
