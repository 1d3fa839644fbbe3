"""Records of LLM judges -> a table of calls: which column is what, and what tells rows apart.

`load_records` reads the rows of any log as text; those of tools come from `exports/judges.py`.
`choose_columns` says which column is what, by its name and by what it holds; `tell_apart` finds the
columns that tell several rows of a judge and an item apart, or refuses; `table_of` gives columns
the names of their roles. `judge_logs.py` makes logs of such tables.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePath
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from finegold.errors import InputError, Placeholder, Remedy, leave_out, use
from finegold.io.columns import MODELS, Role, bare_name, named_column, words_in
from finegold.io.exports.judges import by_judge, calls_in, majority_of_people, read_calls
from finegold.io.source import READABLE, Source, is_files, sources_of
from finegold.io.tables import Table, open_sources, open_table
from finegold.io.verdicts import LogReading, Meaning, class_of, fold, is_pairwise, number_of
from finegold.votes.encoding import as_text

Roles = dict[str, list[str]]
SmallCodes = NDArray[np.int8]
# The usual names of columns by role. A name of a later line counts less; a star is any text.
WORDS: dict[str, tuple[str, ...]] = {
    "item": (
        "item itemid pairid comparisonid taskid task exampleid example sampleid questionid promptid"
        " instanceid uid qid traceid battleid conversationid customid docid recordid caseid testid"
        " queryid q requestid spanid",
        "pair idx instruction question prompt sample instance input unit unitid query case test hit"
        " image imageid",
        "id index responseid",
        "response answer output completion text summary document",
        "runid",
    ),
    "judge": (
        "judge judgemodel judgename judgeid judgellm evaluator evaluatormodel evaluatorname"
        " evaluatorid grader gradermodel gradername graderid llmjudge",
        "annotator annotatorid annotatorindex annotatorname rater raterid scorer reviewer critic"
        " llm sourceid sourcename",
    ),
    "criterion": (
        "criterion criteria criterionname metric metricname dimension aspect rubric rubricname"
        " attribute facet evaluationcriterion qualitydimension assessment assessmentname scorename",
    ),
    "verdict": (
        "verdict judgeverdict llmverdict decision winner preference preferred choice vote judgment"
        " judgement rawverdict rawjudgment judgelabel llmlabel judgescore llmscore predictedlabel"
        " modelverdict judgerating judgeoutput judgedecision judgechoice pick picked selected",
        "passed pass iscorrect correct success score rating grade",
        "outcome result prediction predicted label stringvalue value *verdict *winner *decision"
        " *preference *judgment *result *judgescore",
        "answer response output completion rawoutput rawresponse raw",
    ),
    "order": (
        "order promptorder answerorder position presentation presentationorder swapped isswapped"
        " swap flipped isflipped reversed isreversed shownfirst firstshown game",
        "*order *swapped *flipped *reversed *shownfirst *swap",
    ),
    "system_a": (),
    "system_b": (),
    "gold": (
        "gold goldlabel goldverdict goldscore truth groundtruth groundtruthlabel humanlabel"
        " humanverdict humanwinner humanpreference humanscore humanrating humangrade humanvote"
        " humanjudgment humanjudgement truelabel expertlabel expertscore goldstandard",
        "human* gold* truth* groundtruth* expert*",
        "label",
        "reference referencelabel expected expectedlabel target targetlabel",
    ),
    "repeat": (
        "repeat repeatid repetition run runid trial attempt replicate epoch iteration sampleidx"
        " sampleindex seed draw",
    ),
    "cost": ("cost costusd price usd totalcost callcost",),
    "error": ("error errors errormessage exception failure failed status callstatus",),
}
NAMES = {
    role: [re.compile(line.replace("*", ".*").replace(" ", "|")) for line in lines]
    for role, lines in WORDS.items()
}
MODEL = words_in("model modelname modelid")
# further parts of a judge, and of an item
OF_JUDGE = words_in(
    "prompt promptname promptversion prompttemplate promptstyle promptid judgeprompt template"
    " templateid version variant temperature strategy style config setting persona method technique"
    " judgeversion mode"
)
OF_ITEM = words_in(
    "model modelname modelid system systemid systemname generator candidate provider application"
    " turn pair pairid responseid answerid outputid language subset split dataset response answer"
    " output completion topic document passage summary"
)
# never tell calls apart: they differ from call to call by themselves
BY_CALL = re.compile(
    r"reason|rational|explan|comment|creat|stamp|latency|token|duration|time|date|raw|log|confidence"
    r"|prob|feedback|justif|thought|cot|text|score|uuid|requestid|cost"
)
# a column per judge: the judge, and what it gave
OF_ONE_JUDGE = re.compile(
    r"(?P<who>.+?)[\W_]+(?P<what>verdict|score|label|rating|judge?ment|decision|vote|grade)"
    rf"|(?P<model>(?:{'|'.join(MODELS.split())})(?:[\W_\d].*)?)",
    re.IGNORECASE,
)
NO_JUDGE = re.compile("human|gold|truth|groundtruth|expert|judge|llm")
PERSON = re.compile(
    r"(?:human|annotator|expert|person|rater|worker|crowd|labell?er)s?(?:label|vote|score)?\d+$"
)
SYSTEM_WORDS = words_in(
    "model system generator assistant candidate player contestant llm bot engine agent policy"
    " checkpoint"
)
SIDES = (("a", "b"), ("1", "2"), ("left", "right"), ("first", "second"), ("x", "y"))
OPPONENTS = ("baseline", "baselinemodel", "reference", "referencemodel", "opponent")
# values of the column of orders, without blanks, commas and signs
ORDERS = dict.fromkeys(
    words_in("ab original normal afirst forward false no unswapped notswapped 12 first a default"),
    0,
) | dict.fromkeys(
    words_in("ba swapped swap reversed bfirst true yes flipped reverse 21 second b backward"), 1
)
# in names of files: the answers as they are, or swapped
_SHOWN, _SWAPPED = "ab|original|orig|unswapped", "ba|swapped|swap|reversed|flipped"
SWAPPED = re.compile(rf"(?i)(?<![^\W_])(?:{_SWAPPED})(?![^\W_])")
_ANY = f"(?:{_SHOWN}|{_SWAPPED})"
ORDER_WORD = re.compile(rf"(?i)[\W_]+{_ANY}\b|\b{_ANY}[\W_]+")
# columns that the names of columns, files and folders make
FILE_ORDER = "the files' order"
COLUMN, FILE, FOLDER = "the column's name", "the file's name", "the folder's name"
# how the name of a file of truths begins
TRUTHS = ("human", "gold", "truth", "label", "reference")
# verdicts that are looked at to tell what they are, and classes that are counted
LOOKED_AT, MOST_CLASSES = 2000, 20
# the most values of a column that tells calls apart, unless there are many rows
FEW_VALUES, ROWS_PER_VALUE = 50, 20
# share of readable verdicts that makes a column one of verdicts
MOSTLY = 0.5
# share of rows that may repeat another without being said to be different things
FEW_REPEATS = 0.05


# Records.


def load_records(log: Any, notes: list[str]) -> tuple[str, pl.DataFrame, list[Source]]:
    """Load the rows of a log as text: files, which tools may have written, a data frame or columns,
    or judge -> item -> verdict. Return its name, the rows, and files of truths among those of it.
    """
    if isinstance(log, Mapping) and log and all(isinstance(row, Mapping) for row in log.values()):
        return "the log", by_judge(log), []
    log = [log] if isinstance(log, Source) else log
    if not is_files(log):
        opened = log if isinstance(log, Table) else open_table(log)
        frame = opened.read(opened.columns)
        calls = calls_in(frame, opened.name)
        return opened.name, _as_texts(frame) if calls is None else calls, []
    sources = sources_of(log)
    truths = [each for each in sources if len(sources) > 1 and _holds_truths(each)]
    truths = truths if len(truths) < len(sources) else []
    read = [(each, read_calls(each)) for each in sources if each not in truths]
    others = [PurePath(source.name).name for source, table in read if table is None]
    if 0 < len(others) < len(read):
        names = ", ".join(dict.fromkeys(others))
        notes.append(f"{len(others):,} other files hold no verdicts and are left out: {names:.80}")
        read = [(source, table) for source, table in read if table is not None]
    sources, tables = [source for source, _ in read], []
    for source, table in read:
        if table is None:
            opened = open_sources([source])
            table = _as_texts(opened.read(opened.columns))
        tables.append(table)
    tables = _with_file_names(sources, tables) if len(sources) > 1 else tables
    more = f" and {len(sources) - 3:,} more" if len(sources) > 3 else ""
    name = ", ".join(source.name for source in sources[:3]) + more
    return name, pl.concat(tables, how="diagonal"), truths


def _with_file_names(sources: list[Source], tables: list[pl.DataFrame]) -> list[pl.DataFrame]:
    """Add the parts of the names of files that differ as columns: they may be judges, or orders."""
    paths = [PurePath(source.name) for source in sources]
    # the file, its folder, and so on
    parts = [[stem_of(path.name), *path.parts[-2::-1]] for path in paths]
    ends = ["/".join(names[1::-1]) for names in parts]
    orders = ["BA" if SWAPPED.search(end) else "AB" for end in ends]
    rests = [ORDER_WORD.sub("", end) for end in ends]
    # the names say an order if every swapped file has a partner
    pairs = [(rest, order) for rest in sorted({*rests}) for order in ("AB", "BA")]
    columns: dict[str, list[str]] = {}
    if pairs == sorted(zip(rests, orders, strict=True)) and not any(
        fitting("order", table.columns) for table in tables
    ):
        columns[FILE_ORDER] = orders
        parts = [[ORDER_WORD.sub("", names[0]), *names[2:]] for names in parts]
    for up in range(min(map(len, parts))):
        name = f"{FOLDER}, {up - 1} up" if up > 1 else FOLDER if up else FILE
        values = [names[up] for names in parts]
        if len({*values}) > 1 or (columns and not up):
            columns[name] = values
    # from the outermost folder to the file
    return [
        table.with_columns(pl.lit(columns[name][n]).alias(name) for name in reversed(columns))
        for n, table in enumerate(tables)
    ]


def _holds_truths(source: Source) -> bool:
    name = stem_of(PurePath(source.name).name).casefold()
    return name.startswith(TRUTHS) or majority_of_people(source) is not None


def stem_of(name: str) -> str:
    """Return the name of a file without its endings."""
    path = PurePath(name)
    while path.suffix.lower() in (*READABLE, ".txt", ".qrels"):
        path = path.with_suffix("")
    return path.name


def _as_texts(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.select(_text(column) for column in frame.iter_columns())


def _text(column: pl.Series) -> pl.Series:
    # an object or a list of JSON with the verdict in a field
    if isinstance(column.dtype, pl.Struct):
        return column.struct.json_encode()
    if isinstance(column.dtype, pl.List | pl.Array):
        cells = [
            None if each is None else json.dumps(each, default=str) for each in column.to_list()
        ]
        return pl.Series(column.name, cells, dtype=pl.String)
    is_plain = column.dtype.is_float() or column.dtype in (pl.Boolean, pl.Binary)
    return as_text(column) if is_plain else column.cast(pl.String)


def by_row(frame: pl.DataFrame) -> tuple[pl.DataFrame, dict[str, str]]:
    """Return a log with a column per judge, such as gpt_score and claude_score, with a row per
    verdict, and the columns of judges and verdicts.
    """
    groups: dict[str, list[str]] = {}
    for column in [] if fitting("judge", frame.columns) else frame.columns:
        own = OF_ONE_JUDGE.fullmatch(column.strip())
        if own is not None and not NO_JUDGE.match(bare_name(column)):
            groups.setdefault((own["what"] or "").lower(), []).append(column)
    columns = max(groups.values(), key=len, default=[])
    if len(columns) < 2 or not all(_holds_verdicts(frame[each], 2) for each in columns):
        return frame, {}
    names = {each: re.sub(OF_ONE_JUDGE, lambda own: own["who"] or own[0], each) for each in columns}
    rest, what = [each for each in frame.columns if each not in columns], ", ".join(columns)
    rows = frame.unpivot(columns, index=rest, variable_name=COLUMN, value_name=what)
    rows = rows.with_columns(pl.col(COLUMN).replace(names)).drop_nulls(what)
    return rows, {"judge": COLUMN, "verdict": what}


# Which column is what.


def fitting(role: str, columns: Iterable[str]) -> dict[str, int]:
    """Return the columns whose names fit a role, the best first, with the line of `WORDS` that
    their name is in.
    """
    found: dict[str, int] = {}
    for line, words in enumerate(NAMES[role]):
        for column in columns:
            if words.fullmatch(bare_name(column)):
                found.setdefault(column, line)
    return found


def choose_columns(frame: pl.DataFrame, reading: LogReading) -> Roles:
    """Return the columns of every role that the log has: those that the user names, or those with a
    usual name whose values fit. The role "judged" is that of a column which seems to hold what
    was judged, where there are no verdicts.
    """
    roles: Roles = {}
    for name in WORDS:
        if (given := getattr(reading, name)) is not None:
            role = Role(name, name.replace("_", "-"), frozenset())
            parts = [given] if given in frame.columns else given.split(",")
            roles[name] = [named_column(frame.columns, part.strip(), role) for part in parts]
    named = {column for each in roles.values() for column in each}
    free = [
        column
        for column in frame.columns
        if column not in named and not column.startswith((FILE, FOLDER))
    ]

    def take(role: str, found: Iterable[str], most: int = 1) -> None:
        if role not in roles and (columns := list(found)[:most]):
            roles[role] = columns
            free[:] = [column for column in free if column not in columns]

    for end, system in zip(("system_a", "system_b"), systems_in(frame.select(free)), strict=False):
        take(end, [system])
    for name in ("order", "criterion", "cost", "error"):
        take(name, fitting(name, free))
    people = [each for each in free if PERSON.fullmatch(bare_name(each))]
    take("people", people if len(people) > 1 else [], len(people))
    take("judge", fitting("judge", free))
    bare = {bare_name(each): each for each in free}
    # scores of Langfuse and feedback of LangSmith
    if {"traceid", "runid"} & bare.keys():
        take("criterion", [bare[key] for key in ("key", "name") if key in bare])
    models = [bare[each] for each in MODEL if each in bare]
    if "judge" in roles and models:
        rivals = [bare[each] for each in OPPONENTS if each in bare and _is_name(frame[bare[each]])]
        if rivals and "system_a" not in roles:
            take("system_a", models)
            take("system_b", rivals)
    # numbers of rows are not items where several judges share them
    items = [*fitting("item", free)] or [each for each in free if bare_name(each).endswith("id")]
    shared = [each for each in items if frame[each].n_unique() < frame.height]
    has_judges = "judge" in roles and frame[roles["judge"][0]].n_unique() > 1
    take("item", shared if shared and has_judges else items)
    take("repeat", fitting("repeat", free))
    if "verdict" not in roles:
        for name, columns in _verdicts(frame, free, roles).items():
            take(name, columns)
    if "people" not in roles:
        take("gold", fitting("gold", free))
    if not {"judge", "system_a"} & roles.keys():
        models = [each for each in free if bare_name(each) in MODEL]
        is_judge = not any(bare_name(each).startswith("judge") for each in frame.columns)
        if models and is_judge and not _truths_differ(frame, roles, models[0]):
            roles["judge"] = models[:1]
    return roles


def systems_in(frame: pl.DataFrame) -> list[str]:
    """Return the two columns that name the systems, or nothing."""
    parts = {
        tuple(re.findall(r"[a-z]+|\d+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", each).casefold())): each
        for each in frame.columns
    }
    for names, column in parts.items():
        for one, other in SIDES:
            for place in [place for place, part in enumerate(names) if part == one]:
                rest = {*names[:place], *names[place + 1 :]}
                partner = parts.get((*names[:place], other, *names[place + 1 :]))
                is_system = bool(rest & SYSTEM_WORDS) or (not rest and one in ("left", "first"))
                if partner and is_system and _is_name(frame[column]) and _is_name(frame[partner]):
                    return [column, partner]
    return []


def _is_name(column: pl.Series) -> bool:
    """Return whether a column holds few names, and no texts."""
    known = column.drop_nulls().head(LOOKED_AT)
    few = known.n_unique() * 2 <= len(known) and known.n_unique() <= FEW_VALUES
    return few or int(known.str.len_chars().sum()) <= 80 * len(known)


def _truths_differ(frame: pl.DataFrame, roles: Roles, column: str) -> bool | None:
    """Return whether the truths of an item differ with this column, which then names what is
    judged; None if too little is known.
    """
    if not {"item", "gold"} <= roles.keys():
        return None
    gold = roles["gold"][0]
    known = frame.filter(pl.col(gold).is_not_null())
    groups = known.group_by(roles["item"]).agg(pl.n_unique(column, gold)).filter(pl.col(column) > 1)
    return bool((groups[gold] > 1).any()) if groups.height > 4 else None


def _verdicts(frame: pl.DataFrame, columns: Sequence[str], roles: Roles) -> Roles:
    """Return the columns that hold verdicts, the most likely first, or else those that hold what
    was judged, which is the same for all judges of an item.
    """
    named = fitting("verdict", columns)
    lines = {each: line for each, line in named.items() if _holds_verdicts(frame[each], line)}
    judge = roles.get("judge") or [each for each in (FILE,) if each in frame.columns]
    judged: list[str] = []
    if judge and "item" in roles:
        weak = [each for each, line in lines.items() if line > 1]
        n_judges = pl.n_unique(judge[0]).alias("finegold n")
        groups = frame.group_by(roles["item"]).agg(*map(pl.n_unique, weak), n_judges)
        several = groups.filter(pl.col("finegold n") > 1)
        judged = [each for each in weak if several.height and (several[each] == 1).all()]
    # a column with one value says nothing where another says something
    found = [each for each in lines if each not in judged]
    found.sort(key=lambda each: frame[each].n_unique() < 2)
    found = found or [each for each, line in named.items() if line == 0]
    return {"verdict": found} if found else {"judged": judged}


def _holds_verdicts(column: pl.Series, line: int) -> bool:
    """Return whether values look like verdicts. The weaker the name of the column, given by its
    line in `WORDS`, the more they must.
    """
    texts = column.drop_nulls().head(LOOKED_AT).to_list()
    distinct = list(dict.fromkeys(texts))
    if not distinct:
        return line < 2
    if all(number_of(fold(text)) is not None for text in distinct):
        return line < 3 or len(distinct) <= MOST_CLASSES
    if sum(map(is_pairwise, distinct)) > MOSTLY * len(distinct):
        return True
    classes = {fold(said) for text in distinct if isinstance(said := class_of(text), str)}
    n_read = sum(class_of(text) != Meaning.UNREADABLE for text in texts)
    few = len(classes) <= max(MOST_CLASSES, len(texts) // ROWS_PER_VALUE)
    return (line < 1 or few) and n_read > MOSTLY * len(texts)


# What tells rows apart.


def tell_apart(frame: pl.DataFrame, roles: Roles, name: str, notes: list[str]) -> Roles:
    """Find the columns that tell several rows of one judge and item apart, and give them to the
    judge, the item or the criterion; refuse what could be either.
    """
    levels = [each for each in frame.columns if each.startswith((FILE, FOLDER))]
    if levels and "judge" not in roles:
        # names of files and folders are judges if these share items
        roles["judge"] = [FILE] if FILE in levels else levels[:1]
        if "item" in roles:
            item, n_items = roles["item"][0], frame[roles["item"][0]].n_unique()
            shared = [e for e in levels if 2 * n_items <= frame.select(item, e).n_unique() + 1]
            roles["judge"] = shared or roles["judge"]
        frame = frame.drop(set(levels) - set(roles["judge"]))
    keys = ("item", "judge", "criterion", "order", "repeat", "system_a", "system_b")

    def n_repeated(*more: str) -> int:
        key = [column for role in keys for column in roles.get(role, ())]
        return frame.height - frame.select(*dict.fromkeys([*key, *more])).n_unique()

    if "item" not in roles or not (n := n_repeated()):
        return roles
    taken = {column for each in roles.values() for column in each}
    most = max(FEW_VALUES, frame.height // ROWS_PER_VALUE)
    free = [
        column
        for column in frame.columns
        if column not in taken
        and 1 < frame[column].n_unique() <= most
        and (bare_name(column) in OF_JUDGE | OF_ITEM or not BY_CALL.search(bare_name(column)))
    ]
    while n > FEW_REPEATS * frame.height:
        left = {column: n_repeated(column) for column in free}
        better = [each for each in free if left[each] < 0.6 * n]
        part_of = {each: part for each in better if (part := _part(frame, roles, each))}
        if not part_of:
            if better or not {"judge", "order", "repeat", "system_a"} & roles.keys():
                _refuse(frame, roles, name, better, n)
            break
        column = min(part_of, key=lambda each: (left[each], frame[each].n_unique()))
        roles[part_of[column]] = [*roles.get(part_of[column], ()), column]
        free.remove(column)
        n = n_repeated()
    if n:
        notes.append(
            f"{n:,} rows repeat a judge and an item, and no column tells them apart: they count as"
            " repeats"
        )
    return roles


def _part(frame: pl.DataFrame, roles: Roles, column: str) -> str:
    """Return the role that a column which tells rows apart has: a further part of the judge or of
    the item, or the criterion; empty if its name does not say.
    """
    name = bare_name(column)
    is_of_judge = "judge" in roles and _truths_differ(frame, roles, column) is False
    if (name in OF_ITEM or name.endswith("pair")) and not (name in MODEL and is_of_judge):
        return "item"
    if name in OF_JUDGE | MODEL or fitting("judge", [column]) or column.startswith((FILE, FOLDER)):
        return "judge"
    if fitting("criterion", [column]):
        return "criterion"
    if fitting("item", [column]).get(column, 2) < 2:
        # the same few questions about every item are criteria
        n_pairs = frame.select(*roles["item"], column).n_unique()
        n_items, n_values = frame.select(*roles["item"]).n_unique(), frame[column].n_unique()
        is_crossed = n_pairs > 0.9 * n_items * n_values and n_values <= MOST_CLASSES
        return "criterion" if is_crossed and n_items > n_values else "item"
    return ""


def _refuse(frame: pl.DataFrame, roles: Roles, name: str, columns: Sequence[str], n: int) -> None:
    """Refuse rows that may be several judges, items or criteria, or repeats."""
    why = f"{' or '.join(columns)} tells them apart, but not what it is"
    why = why if columns else "no column says which judge gave them"
    column: Any = columns[0] if len(columns) == 1 else Placeholder("COLUMN")
    remedies = [
        use("if it is a part of the judge", judge=",".join([*roles.get("judge", ()), column])),
        use("if it is a part of the item", item=",".join([*roles["item"], column])),
        use("if it is the criterion", criterion=column),
        use("if these are repeats", repeat=column),
    ]
    problem = f"{n:,} rows have the same judge and item, and {why}"
    raise InputError(problem + listing(frame, roles), name, remedies)


def refuse_lost(role: str, frame: pl.DataFrame, roles: Roles, name: str) -> None:
    """Refuse a log without a column of verdicts or items."""
    problem, judged = f"found no column of {role}s", roles.get("judged", [])
    if judged:
        what = "the truths" if bare_name(judged[0]) == "label" else "what was judged"
        problem += f'; "{judged[0]}" seems to hold {what}: it is the same for all judges of an item'
    taken = {column for columns in roles.values() for column in columns}
    free = judged or [each for each in frame.columns if each not in taken]
    column: Any = free[0] if len(free) == 1 else Placeholder("COLUMN")
    remedy = use(text="if that is the column", **{role: column})
    raise InputError(problem + listing(frame, roles), name, [remedy])


def listing(frame: pl.DataFrame, roles: Roles) -> str:
    """Return the end of a problem: what each column is read as, how many values it has, an example."""
    role_of = {column: role for role, columns in roles.items() for column in columns}
    lines = [". The columns are:"]
    for column in frame.columns:
        values = frame[column].drop_nulls()
        example = " ".join(str(values[0]).split())[:30] if len(values) else ""
        words = f"{column:.24}", role_of.get(column, "–"), f"{values.n_unique():,} values", example
        lines.append("  {:24}  {:10}  {:>13}  {}".format(*words).rstrip())
    return "\n".join([*lines, ""])


# Calls: columns under the names of their roles.


def table_of(frame: pl.DataFrame, roles: Roles, name: str, notes: list[str]) -> pl.DataFrame:
    """Return the columns under the names of their roles, and note what is left out."""
    series: dict[str, Any] = {"row": pl.int_range(frame.height, dtype=pl.UInt32)}
    for role in [each for each in WORDS if each in roles]:
        cells = [pl.col(column) for column in roles[role]]
        cells = cells if len(cells) == 1 else [cell.fill_null("?") for cell in cells]
        series[role] = pl.concat_str(cells, separator=" / " if role == "judge" else ", ")
    if "judge" not in roles:
        is_file = PurePath(name).suffix.lower() in READABLE and ", " not in name
        series["judge"] = pl.lit(stem_of(name) if is_file else "judge")
    if "item" not in roles:
        series["item"] = (pl.int_range(frame.height) + 1).cast(pl.String)
        notes.append("no column names the items, so every row is an item")
    table = frame.select(**series)
    for role in ("item", "judge"):
        if table[role].null_count():
            row = int(table[role].is_null().arg_max() or 0) + 1
            raise InputError(f"{name}: verdict {row:,} has no {role}; fill it in or remove the row")
    if "cost" in roles:
        price = pl.col("cost").str.strip_chars(" $€£").cast(pl.Float64, strict=False)
        priced = table.with_columns(price.fill_nan(None))
        if n := priced["cost"].null_count() - table["cost"].null_count():
            column = roles["cost"][0]
            notes.append(f'{n:,} values in the column "{column}" are not numbers and are left out')
        table = priced
    if "system_a" in roles:
        others = table.filter(pl.col("system_a").ne_missing(pl.col("system_b")))
        if n := table.height - others.height:
            notes.append(f"{n:,} verdicts compare a system with itself and are left out")
        table = others
    return table


def with_orders(
    table: pl.DataFrame, roles: Roles, reading: LogReading, name: str, notes: list[str]
) -> tuple[pl.DataFrame, bool]:
    """Return calls with 0 for the order AB, 1 for BA and -1 for blank, and whether verdicts compare
    two answers. Orders that cannot be understood are refused, since verdicts would be read the
    wrong way, or left out where verdicts judge one answer.
    """
    if "order" not in table.columns:
        ends = [bare_name(roles[end][0]) for end in ("system_a", "system_b") if end in roles]
        # system_a is shown first; AlpacaEval undoes the order
        if ends and ends != ["generator1", "generator2"] and ends[-1] not in OPPONENTS:
            table = table.with_columns(order=pl.lit(0, pl.Int8))
        return table, _compares(table, reading)
    codes = _orders_of(table)
    if codes is not None:
        words = {*table["order"].drop_nulls().str.to_lowercase()}
        are_pairs = _compares(table, reading, bool(words & {"ab", "ba"}), has_orders=True)
        return table.with_columns(order=pl.Series(codes)), are_pairs
    are_pairs = _compares(table, reading)
    column, values = roles["order"][0], table["order"].drop_nulls().unique(maintain_order=True)
    shown = ", ".join(repr(value) for value in values[:4])
    verdicts = table["verdict"].drop_nulls().unique()
    are_sides = len(verdicts) <= 3 and all(map(is_pairwise, verdicts))
    if reading.order is not None or (len(values) in (1, 2) and (are_sides or are_pairs)):
        problem = f'the column "{column}" has other values than AB and BA: {shown}'
        remedies = [
            Remedy(text="write AB and BA there"),
            leave_out("order") if reading.order else use(order=Placeholder("COLUMN")),
        ]
        raise InputError(problem, name, remedies)
    notes.append(f'the column "{column}" is not used: its values are not AB and BA, but {shown}')
    return table.drop("order"), are_pairs


def _orders_of(table: pl.DataFrame) -> SmallCodes | None:
    """Return the codes of words, or of the name of the system that is shown first; None for other
    values.
    """
    column = table["order"]
    if "system_a" in table.columns:
        first, second = (column.eq_missing(table[side]) for side in ("system_a", "system_b"))
        if (first | second | column.is_null()).all():
            return np.where(column.is_null(), -1, second.cast(pl.Int8)).astype(np.int8)
    words = {value: bare_name(value).replace(",", "") for value in column.drop_nulls().unique()}
    known, said = ORDERS, {*words.values()}
    # numbers from 0 or from 1
    for numbers in ({"1": 0, "2": 1}, {"0": 0, "1": 1}):
        known = numbers if said <= numbers.keys() else known
    if not said or not known.keys() >= said:
        return None
    codes: SmallCodes = replaced(column, {v: known[w] for v, w in words.items()}, -1, pl.Int8)
    return codes


def _compares(
    table: pl.DataFrame, reading: LogReading, is_named: bool = False, has_orders: bool = False
) -> bool:
    """Return whether verdicts, or truths beside them, compare two answers."""
    if reading.kind is not None:
        return reading.kind == "pairwise"
    if "system_a" in table.columns or is_named:
        return True
    texts, golds = (
        table[role].drop_nulls().unique(maintain_order=True).head(LOOKED_AT).to_list()
        if role in table.columns
        else []
        for role in ("verdict", "gold")
    )
    verdicts = [part for text in texts if (part := reading.said(text)) is not None]
    classes = [each.casefold() for text in verdicts if isinstance(each := class_of(text), str)]
    if has_orders and sum(map(is_pairwise, verdicts)) >= MOSTLY * len(classes):
        return True
    if {"a", "b"} <= {*classes} <= {"a", "b", "c"}:
        return True
    return any(is_pairwise(text, clearly=True) for text in (*verdicts, *golds))


def replaced(
    column: pl.Series, codes: Mapping[str, int], default: int, dtype: Any = pl.Int32
) -> Any:
    """Return the code of each text; those without one, and nulls, have the default."""
    found = column.replace_strict(codes, default=default, return_dtype=dtype)
    return found.fill_null(default).to_numpy().copy()
