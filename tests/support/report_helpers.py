"""Reports for tests, and how to look into them."""

from html.parser import HTMLParser
from pathlib import Path

import numpy as np

from finegold import Annotations
from tests.support.animals import ANIMALS

SAMPLE = ANIMALS
EVIL = "</script><script>alert(1)</script>\u2028\"'><img src=x onerror=alert(2)>{{7*7}}{% raw %}"


class Page(HTMLParser):
    """What a browser would make of the file: its elements, their attributes, the text and the scripts."""

    def __init__(self, path):
        super().__init__()
        self.source = Path(path).read_text(encoding="utf-8")
        self.elements, self.text, self.scripts, self.within = [], "", [], ""
        self.feed(self.source)

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        self.within = tag
        self.text += "" if tag in ("bdi", "span") else " "
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag):
        self.within = ""

    def handle_data(self, data):
        if self.within == "script":
            self.scripts[-1] += data
        elif self.within != "style":
            self.text += data

    def all(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]

    @property
    def words(self):
        return " ".join(self.text.replace("\u202f", " ").split())

    @property
    def figures(self):
        return {found["data-figure"] for found in self.all("svg") if "data-figure" in found}


def evil_votes(n_tasks=30, n_annotators=6, names=(EVIL,)):
    """Every name is an attack, and votes disagree enough for all tables to have rows."""

    def name(what, number):
        return f"{what} {number:02d}{names[number % len(names)]}"

    rng = np.random.default_rng(0)
    votes = []
    for i in range(n_tasks):
        truth = int(rng.integers(3))
        for j in range(n_annotators):
            voted = truth if rng.random() < 0.5 else int(rng.integers(3))
            votes.append((name("task", i), name("annotator", j), name("class", voted)))
    return Annotations.from_arrays(*zip(*votes, strict=True))


def votes_of(**tasks):
    """votes_of(t1="xxy"): the letters are the votes of annotators 0, 1, ..."""
    return Annotations.from_arrays(
        *zip(
            *[(task, j, label) for task, labels in tasks.items() for j, label in enumerate(labels)],
            strict=True,
        )
    )


def report_of(result, path, **more):
    from finegold.report import write_report

    write_report(result, path, **more)
    return Page(path)
