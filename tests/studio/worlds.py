"""Votes on simulated tasks whose truths the tests know."""

import random

CLASSES = ("hateful", "non-hateful", "offensive")
PEOPLE = ("ada", "bo", "cyd", "dev", "eli", "fay")


def truths(n, seed=7, classes=CLASSES):
    source = random.Random(seed)
    return {number: source.choice(classes) for number in range(1, n + 1)}


def votes(truth, seed=1, right=0.6, hard=0.45, per_task=4, people=PEOPLE, classes=CLASSES):
    """Rows of a table of votes; people err independently, and more on every fourth task."""
    source, rows = random.Random(seed), ["task,annotator,label,text"]
    for number, label in truth.items():
        share = right * hard if number % 4 == 0 else right
        for person in source.sample(people, per_task):
            said = label if source.random() < share else source.choice(classes)
            rows.append(f'{number},{person},{said},"What somebody wrote as post {number}"')
    return "\n".join(rows) + "\n"


def share_right(labels, truth):
    """Computed from the labels that the studio shows, and from nothing else that it says."""
    return sum(label == truth[task] for task, label in labels.items()) / len(labels)
