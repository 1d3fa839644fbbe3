"""Records of LLM judges -> a table of calls: which column is what, and what tells rows apart.

`load_records` reads the rows of any log as text; those of tools come from `exports/judges.py`.
`choose_columns` says which column is what, by its name and by what it holds; `tell_apart` finds the
columns that tell several rows of a judge and an item apart, or refuses; `table_of` gives columns
the names of their roles. `judge_logs.py` makes logs of such tables.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from finegold.errors import InputError, Placeholder, Remedy, leave_out, use
from finegold.io.columns import MODELS, Role, bare_name, candidates, named_column, words_in
from finegold.io.exports.judges import by_judge, calls_in, majority_of_people, read_calls
from finegold.io.source import READABLE, Source, is_files, sources_of
from finegold.io.tables import Table, open_sources, open_table
from finegold.io.verdicts import LogReading, Meaning, class_of, fold, is_pairwise, number_of
from finegold.votes.encoding import as_text

Roles = dict[str, list[str]]
SmallCodes = NDArray[np.int8]
# the usual names of columns by role: a name of a later line counts if there is none of an earlier
WORDS = {
    "item": (
        "item itemid pairid comparisonid taskid task exampleid example sampleid questionid promptid"
        " instanceid uid qid traceid battleid conversationid customid docid recordid caseid testid"
        " queryid q requestid spanid",
        "pair idx instruction question prompt sample instance input unit unitid query case test hit"
        " image imageid",
        "id index runid responseid",
        "response answer output completion text summary document",
    ),
    "judge": (
        "judge judgemodel judgename judgeid judgellm evaluator evaluatormodel evaluatorname"
        " evaluatorid grader gradermodel gradername graderid llmjudge",
        "annotator annotatorid annotatorindex annotatorname rater raterid scorer reviewer critic"
        " llm sourceid sourcename",
    ),
    "verdict": (
        "verdict judgeverdict llmverdict decision winner preference preferred choice vote judgment"
        " judgement rawverdict rawjudgment judgelabel llmlabel judgescore llmscore predictedlabel"
        " modelverdict judgerating judgeoutput judgedecision judgechoice pick picked selected",
        "passed pass iscorrect correct success score rating grade",
        "outcome result prediction predicted label stringvalue value",
        "answer response output completion rawoutput rawresponse raw",
    ),
    "order": (
        "order promptorder answerorder position presentation presentationorder swapped isswapped"
        " swap flipped isflipped reversed isreversed shownfirst firstshown game",
    ),
    "criterion": (
        "criterion criteria criterionname metric metricname dimension aspect rubric rubricname"
        " attribute facet evaluationcriterion qualitydimension assessment assessmentname scorename",
    ),
    "repeat": (
        "repeat repeatid repetition run runid trial attempt replicate epoch iteration sampleidx"
        " sampleindex seed draw",
    ),
    "cost": ("cost costusd price usd totalcost callcost",),
    "error": ("error errors errormessage exception failure failed status callstatus",),
    "gold": (
        "gold goldlabel goldverdict goldscore truth groundtruth groundtruthlabel humanlabel"
        " humanverdict humanwinner humanpreference humanscore humanrating humangrade humanvote"
        " humanjudgment humanjudgement truelabel expertlabel expertscore goldstandard",
        "human expert label",
        "reference referencelabel expected expectedlabel target targetlabel",
    ),
    "system_a": ("",),
    "system_b": ("",),
}
ROLES = {
    name: Role(name, name.replace("_", "-"), words_in(first), tuple(map(words_in, others)))
    for name, (first, *others) in WORDS.items()
}
# how other names of a role end or begin
ORDER_ENDS = ("order", "swapped", "flipped", "reversed", "shownfirst", "swap")
VERDICT_ENDS = (
    *("verdict", "winner", "decision", "preference", "judgment", "result", "judgescore"),
)
GOLD_STARTS = ("human", "gold", "truth", "groundtruth", "expert")
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
PERSON = re.compile(
    r"(?:human|annotator|expert|person|rater|worker|crowd|labell?er)s?(?:label|vote|score)?\d+$"
)
SYSTEM_WORDS = words_in(
    "model system generator assistant candidate player contestant llm bot engine agent policy"
    " checkpoint"
)
SIDES = (("a", "b"), ("1", "2"), ("left", "right"), ("first", "second"), ("x", "y"))
OPPONENTS = ("baseline", "baselinemodel", "reference", "referencemodel", "opponent")
# nothing is known about positions; AlpacaEval undoes the order
UNPLACED = ("generator1", "generator2")
# values of the column of orders, without blanks, commas and signs
ORDERS = dict.fromkeys(
    words_in("ab original normal afirst forward false no unswapped notswapped 12 first a default"),
    0,
) | dict.fromkeys(
    words_in("ba swapped swap reversed bfirst true yes flipped reverse 21 second b backward"), 1
)
# columns that the names of columns, files and folders make
# in names of files: the answers as they are, or swapped
_SHOWN, _SWAPPED = "ab|original|orig|unswapped", "ba|swapped|swap|reversed|flipped"
SWAPPED = re.compile(rf"(?i)(?<![^\W_])(?:{_SWAPPED})(?![^\W_])")
_ANY = f"(?:{_SHOWN}|{_SWAPPED})"
ORDER_WORD = re.compile(rf"(?i)[\W_]+{_ANY}\b|\b{_ANY}[\W_]+")
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
    sources, truths = sources_of(log), []
    if len(sources) > 1:
        truths = [
            each
            for each in sources
            if stem_of(each).casefold().startswith(TRUTHS) or majority_of_people(each) is not None
        ]
    if 0 < len(truths) < len(sources):
        sources = [source for source in sources if source not in truths]
    else:
        truths = []
    read = [(source, read_calls(source)) for source in sources]
    others = [source for source, table in read if table is None]
    if 0 < len(others) < len(read):
        names = ", ".join(dict.fromkeys(PurePath(each.name).name for each in others))
        notes.append(f"{len(others):,} other files hold no verdicts and are left out: {names:.80}")
        read = [(source, table) for source, table in read if table is not None]
    tables = []
    for source, table in read:
        if table is None:
            opened = open_sources([source])
            table = _as_texts(opened.read(opened.columns))
        tables.append(table)
    sources = [source for source, _ in read]
    if len(sources) > 1:
        tables = _with_file_names(sources, tables)
    more = f" and {len(sources) - 3:,} more" if len(sources) > 3 else ""
    name = ", ".join(source.name for source in sources[:3]) + more
    return name, pl.concat(tables, how="diagonal"), truths


def _with_file_names(sources: Sequence[Source], frames: list[pl.DataFrame]) -> list[pl.DataFrame]:
    """Add the parts of the names of files that differ as columns: they may be judges, or orders."""
    folders = [PurePath(source.name).parts[-2::-1] for source in sources]
    stems = [stem_of(source) for source in sources]
    paths = ["/".join([*folder[:1], stem]) for folder, stem in zip(folders, stems, strict=True)]
    orders = ["BA" if SWAPPED.search(path) else "AB" for path in paths]
    rests = [ORDER_WORD.sub("", path) for path in paths]
    # the names say an order if every swapped file has a partner
    pairs = [(rest, order) for rest in sorted({*rests}) for order in ("AB", "BA")]
    ends = [bare_name(name).endswith(ORDER_ENDS) for frame in frames for name in frame.columns]
    has_orders = not any(ends) and pairs == sorted(zip(rests, orders, strict=True))
    columns = {FILE: stems}
    if has_orders:
        folders = [folder[1:] for folder in folders]
        columns = {FILE_ORDER: orders, FILE: [ORDER_WORD.sub("", stem) for stem in stems]}
    for up in range(min(map(len, folders))):
        columns[f"{FOLDER}, {up} up" if up else FOLDER] = [folder[up] for folder in folders]
    # from the outermost folder to the file
    names = [
        name
        for name, values in reversed(columns.items())
        if len(set(values)) > 1 or (has_orders and name == FILE)
    ]
    return [
        frame.with_columns(pl.lit(columns[name][number]).alias(name) for name in names)
        for number, frame in enumerate(frames)
    ]


def stem_of(source: Source) -> str:
    """Return the name of a file without its endings."""
    path = PurePath(source.name)
    while path.suffix.lower() in (*READABLE, ".txt", ".qrels"):
        path = path.with_suffix("")
    return path.name


def _as_texts(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.select(_text(column) for column in frame.iter_columns())


def _text(column: pl.Series) -> pl.Series:
    if isinstance(column.dtype, pl.List | pl.Array):
        cells = [
            None if cell is None else json.dumps(cell.to_list(), default=str) for cell in column
        ]
        return pl.Series(column.name, cells, dtype=pl.String)
    # an object of JSON with the verdict in a field
    if isinstance(column.dtype, pl.Struct):
        return column.struct.json_encode()
    if column.dtype.is_float() or column.dtype in (pl.Boolean, pl.Binary):
        return as_text(column)
    return column.cast(pl.String)


def by_row(frame: pl.DataFrame) -> tuple[pl.DataFrame, dict[str, str]]:
    """Return a log with a column per judge, such as gpt_score and claude_score, with a row per
    verdict, and the columns of judges and verdicts.
    """
    if candidates(frame.columns, ROLES["judge"]):
        return frame, {}
    groups: dict[str, list[str]] = {}
    for column in frame.columns:
        own = OF_ONE_JUDGE.fullmatch(column.strip())
        if own is not None and not bare_name(column).startswith((*GOLD_STARTS, "judge", "llm")):
            groups.setdefault((own["what"] or "").lower(), []).append(column)
    columns = max(groups.values(), key=len, default=[])
    if len(columns) < 2 or not all(_holds_verdicts(frame[each], 2) for each in columns):
        return frame, {}
    names = {each: re.sub(OF_ONE_JUDGE, lambda own: own["who"] or own[0], each) for each in columns}
    rest = [each for each in frame.columns if each not in columns]
    what = ", ".join(columns)
    rows = frame.unpivot(columns, index=rest, variable_name=COLUMN, value_name=what)
    rows = rows.with_columns(pl.col(COLUMN).replace(names)).drop_nulls(what)
    return rows, {"judge": COLUMN, "verdict": what}


# Which column is what.


def choose_columns(frame: pl.DataFrame, reading: LogReading) -> Roles:
    """Return the columns of every role that the log has: those that the user names, or those with a
    usual name whose values fit. The role "judged" is that of a column which seems to hold what
    was judged, where there are no verdicts.
    """
    columns = [column for column in frame.columns if not column.startswith((FILE, FOLDER))]
    roles: Roles = {}
    for role in ROLES.values():
        if (words := getattr(reading, role.name)) is not None:
            parts = [words] if words in frame.columns else words.split(",")
            roles[role.name] = [named_column(frame.columns, part.strip(), role) for part in parts]

    def free() -> list[str]:
        taken = {column for each in roles.values() for column in each}
        return [column for column in columns if column not in taken]

    def take(role: str, found: list[str]) -> None:
        if found and role not in roles:
            roles[role] = found[:1]

    for end, column in zip(
        ("system_a", "system_b"), systems_in(frame.select(free())), strict=False
    ):
        roles[end] = [column]
    for name in ("order", "criterion", "repeat", "cost", "error"):
        take(name, candidates(free(), ROLES[name]))
    take("order", [each for each in free() if bare_name(each).endswith(ORDER_ENDS)])
    people = [each for each in free() if PERSON.fullmatch(bare_name(each))]
    roles |= {"people": people} if len(people) > 1 else {}
    take("judge", candidates(free(), ROLES["judge"]))
    # scores of Langfuse and feedback of LangSmith
    bare = {bare_name(each): each for each in free()}
    if {"traceid", "runid"} & {bare_name(each) for each in columns}:
        take("criterion", [bare[key] for key in ("key", "name") if key in bare])
        if "repeat" in roles and "judge" not in roles and not candidates(free(), ROLES["item"]):
            roles["item"] = roles.pop("repeat")
    if "system_a" not in roles and "judge" in roles and (models := [*(MODEL & bare.keys())]):
        others = [bare[each] for each in OPPONENTS if each in bare and _is_name(frame[bare[each]])]
        roles |= {"system_a": [bare[models[0]]], "system_b": others[:1]} if others else {}
    take("item", _items(frame, free(), roles.get("judge")))
    if "verdict" not in roles:
        verdicts, judged = _verdicts(frame, free(), roles)
        take("verdict", verdicts)
        roles |= {} if verdicts or not judged else {"judged": judged[:1]}
    if "people" not in roles:
        found = candidates(free(), ROLES["gold"])
        starts = [each for each in free() if bare_name(each).startswith(GOLD_STARTS)]
        is_weak = not any(bare_name(each) in ROLES["gold"].words for each in found)
        take("gold", starts if starts and is_weak else found)
    if not {"judge", "system_a"} & roles.keys():
        models = [each for each in free() if bare_name(each) in MODEL]
        if models and not any(bare_name(each).startswith("judge") for each in columns):
            roles |= {} if _truths_differ(frame, roles, models[0]) else {"judge": models[:1]}
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


def _items(frame: pl.DataFrame, columns: Sequence[str], judge: list[str] | None) -> list[str]:
    """Return the columns that may name the items, the most likely first: numbers of rows are not
    items where several judges share them.
    """
    tiers = (ROLES["item"].words, *ROLES["item"].others)
    found = [each for words in tiers for each in columns if bare_name(each) in words]
    found = found or [each for each in columns if bare_name(each).endswith("id")]
    shared = [each for each in found if frame[each].n_unique() < frame.height]
    return shared if shared and judge and frame[judge[0]].n_unique() > 1 else found


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


def _verdicts(
    frame: pl.DataFrame, columns: Sequence[str], roles: Roles
) -> tuple[list[str], list[str]]:
    """Return the columns with a usual name that hold verdicts, the most likely first, and those
    that hold what was judged, which is the same for all judges of an item.
    """
    tiers = (ROLES["verdict"].words, *ROLES["verdict"].others)
    tier_of = {
        each: tier
        for tier, words in enumerate(tiers)
        for each in columns
        if bare_name(each) in words
    }
    for each in columns:
        if bare_name(each).endswith(VERDICT_ENDS):
            tier_of.setdefault(each, 2)
    judge = roles.get("judge") or [each for each in (FILE,) if each in frame.columns]
    found: list[str] = []
    judged: list[str] = []
    for each, tier in tier_of.items():
        if not _holds_verdicts(frame[each], tier):
            continue
        is_same = False
        if tier > 1 and judge and "item" in roles:
            n, said = pl.n_unique(judge[0]), pl.n_unique(each).alias("finegold n")
            several = frame.group_by(roles["item"]).agg(n, said).filter(pl.col(judge[0]) > 1)
            is_same = several.height > 0 and bool((several["finegold n"] == 1).all())
        (judged if is_same else found).append(each)
    # a column with one value says nothing where another says something
    found.sort(key=lambda each: frame[each].n_unique() < 2)
    return found or [each for each, tier in tier_of.items() if tier == 0], judged


def _holds_verdicts(column: pl.Series, tier: int) -> bool:
    """Return whether values look like verdicts. The weaker the name of the column, given by its
    tier, the more they must.
    """
    texts = column.drop_nulls().head(LOOKED_AT).to_list()
    distinct = list(dict.fromkeys(texts))
    if not distinct:
        return tier < 2
    if all(number_of(fold(text)) is not None for text in distinct):
        return tier < 3 or len(distinct) <= MOST_CLASSES
    if sum(map(is_pairwise, distinct)) > MOSTLY * len(distinct):
        return True
    classes = {fold(said) for text in distinct if isinstance(said := class_of(text), str)}
    n_read = sum(class_of(text) != Meaning.UNREADABLE for text in texts)
    few = len(classes) <= max(MOST_CLASSES, len(texts) // ROWS_PER_VALUE)
    return (tier < 1 or few) and n_read > MOSTLY * len(texts)


# What tells rows apart.


def tell_apart(frame: pl.DataFrame, roles: Roles, name: str, notes: list[str]) -> Roles:
    """Find the columns that tell several rows of one judge and item apart, and give them to the
    judge, the item or the criterion; refuse what could be either.
    """
    files = _file_judges(frame, roles)
    roles = roles | ({"judge": files} if files else {})
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
        and not (files and column.startswith((FILE, FOLDER)))
        and (bare_name(column) in OF_JUDGE | OF_ITEM or not BY_CALL.search(bare_name(column)))
    ]
    while n > FEW_REPEATS * frame.height and free:
        left = {column: n_repeated(column) for column in free}
        if not (better := [each for each in free if left[each] < 0.6 * n]):
            break
        part_of = {each: part for each in better if (part := _part(frame, roles, each))}
        if not part_of:
            _refuse(frame, roles, name, better, n)
        column = min(part_of, key=lambda each: (left[each], frame[each].n_unique()))
        roles[part_of[column]] = [*roles.get(part_of[column], ()), column]
        free.remove(column)
        n = n_repeated()
    is_told = bool({"judge", "order", "repeat", "system_a"} & roles.keys())
    if n > FEW_REPEATS * frame.height and not is_told:
        _refuse(frame, roles, name, [], n)
    if n:
        notes.append(
            f"{n:,} rows repeat a judge and an item, and no column tells them apart: they count as"
            " repeats"
        )
    return roles


def _file_judges(frame: pl.DataFrame, roles: Roles) -> list[str]:
    """Return the names of files and folders that are judges: several of them share items."""
    levels = [each for each in frame.columns if each.startswith((FILE, FOLDER))]
    if "judge" in roles or not levels:
        return []
    if "item" not in roles:
        return [each for each in levels if each == FILE]
    item = roles["item"][0]
    n_items = frame[item].n_unique()
    shared = [each for each in levels if 2 * n_items <= frame.select(item, each).n_unique() + 1]
    return shared or ([FILE] if FILE in levels else levels[:1])


def _part(frame: pl.DataFrame, roles: Roles, column: str) -> str:
    """Return the role that a column which tells rows apart has: a further part of the judge or of
    the item, or the criterion; empty if its name does not say.
    """
    name = bare_name(column)
    if column.startswith((FILE, FOLDER)):
        return "judge"
    is_of_judge = "judge" in roles and _truths_differ(frame, roles, column) is False
    if (name in OF_ITEM or name.endswith("pair")) and not (name in MODEL and is_of_judge):
        return "item"
    if name in ROLES["judge"].words.union(OF_JUDGE, MODEL, *ROLES["judge"].others):
        return "judge"
    if name in ROLES["criterion"].words:
        return "criterion"
    if name in ROLES["item"].words | ROLES["item"].others[0]:
        # the same few questions about every item are criteria
        n_pairs = frame.select(*roles["item"], column).n_unique()
        n_items, n_values = frame.select(*roles["item"]).n_unique(), frame[column].n_unique()
        is_crossed = n_pairs > 0.9 * n_items * n_values and n_values <= MOST_CLASSES
        return "criterion" if is_crossed and n_items > n_values else "item"
    return ""


def _refuse(frame: pl.DataFrame, roles: Roles, name: str, columns: Sequence[str], n: int) -> None:
    """Refuse rows that may be several judges, items or criteria, or repeats."""
    why = "no column says which judge gave them"
    if columns:
        why = f"{' or '.join(columns)} tells them apart, but not what it is"
    column: Any = columns[0] if len(columns) == 1 else Placeholder("COLUMN")
    remedies = [
        use("if it is a part of the judge", judge=",".join([*roles.get("judge", ()), column])),
        use("if it is a part of the item", item=",".join([*roles["item"], column])),
        use("if it is the criterion", criterion=column),
        use("if these are repeats", repeat=column),
    ]
    problem = f"{n:,} rows have the same judge and item, and {why}"
    raise InputError(f"{problem}. The columns are:\n{listing(frame, roles)}\n", name, remedies)


def refuse_lost(role: str, frame: pl.DataFrame, roles: Roles, name: str) -> None:
    """Refuse a log without a column of verdicts or items."""
    if role == "verdict" and (judged := roles.get("judged")):
        what = "the truths" if bare_name(judged[0]) == "label" else "what was judged"
        problem = f'found no column of verdicts; "{judged[0]}" seems to hold {what}'
        problem += ", because it is the same for all judges of an item"
        these = use(verdict=judged[0], text="if those are verdicts")
        raise InputError(problem, name, [use(verdict=Placeholder("COLUMN")), these])
    taken = {column for columns in roles.values() for column in columns}
    free = [column for column in frame.columns if column not in taken]
    guess: Any = free[0] if len(free) == 1 else Placeholder("COLUMN")
    problem = f"found no column of {role}s. The columns are:\n{listing(frame, roles)}\n"
    raise InputError(problem, name, [use(text="if that is the column", **{role: guess})])


def listing(frame: pl.DataFrame, roles: Roles) -> str:
    """Return the columns as a table: what each is read as, how many values it has, an example."""
    role_of = {column: role for role, columns in roles.items() for column in columns}
    lines = []
    for column in frame.columns:
        values = frame[column].drop_nulls()
        example = " ".join(str(values[0]).split())[:30] if len(values) else ""
        words = f"{column:.24}", role_of.get(column, "–"), f"{values.n_unique():,} values", example
        lines.append("  {:24}  {:10}  {:>13}  {}".format(*words).rstrip())
    return "\n".join(lines)


# Calls: columns under the names of their roles.


def table_of(frame: pl.DataFrame, roles: Roles, name: str, notes: list[str]) -> pl.DataFrame:
    """Return the columns under the names of their roles, and note what is left out."""
    series: dict[str, Any] = {"row": pl.int_range(frame.height, dtype=pl.UInt32)}
    for role in ROLES:
        if (columns := roles.get(role)) and role != "cost":
            cells = [pl.col(column) for column in columns]
            if len(columns) > 1:
                cells = [cell.fill_null("?") for cell in cells]
            series[role] = pl.concat_str(cells, separator=" / " if role == "judge" else ", ")
    if "judge" not in roles:
        is_file = PurePath(name).suffix.lower() in READABLE and ", " not in name
        series["judge"] = pl.lit(stem_of(Source(name, b"")) if is_file else "judge")
    if "item" not in roles:
        series["item"] = (pl.int_range(frame.height) + 1).cast(pl.String)
        notes.append("no column names the items, so every row is an item")
    table = frame.select(**series)
    for role in ("item", "judge"):
        if table[role].null_count():
            row = int(table[role].is_null().arg_max() or 0) + 1
            raise InputError(f"{name}: verdict {row:,} has no {role}; fill it in or remove the row")
    if columns := roles.get("cost"):
        cost = frame[columns[0]].str.strip_chars(" $€£").cast(pl.Float64, strict=False)
        table = table.with_columns(cost=cost.fill_nan(None))
        if n := table["cost"].null_count() - frame[columns[0]].null_count():
            notes.append(
                f'{n:,} values in the column "{columns[0]}" are not numbers and are left out'
            )
    if "system_a" in table.columns:
        pair = tuple(bare_name(roles[end][0]) for end in ("system_a", "system_b"))
        if pair == UNPLACED or pair[1] in OPPONENTS:
            table = table.with_columns(is_unplaced=True)
        others = table.filter(pl.col("system_a").ne_missing(pl.col("system_b")))
        if n := table.height - others.height:
            notes.append(f"{n:,} verdicts compare a system with itself and are left out")
        table = others
    return table


def check_order(
    table: pl.DataFrame, roles: Roles, reading: LogReading, name: str, notes: list[str]
) -> None:
    """Refuse an order that cannot be understood: without it, verdicts would be read the wrong way."""
    if "order" not in table.columns or orders_of(table) is not None:
        return
    column, values = roles["order"][0], table["order"].drop_nulls().unique(maintain_order=True)
    shown = ", ".join(repr(value) for value in values[:4])
    verdicts = table["verdict"].drop_nulls().unique()
    are_sides = len(verdicts) <= 3 and all(map(is_pairwise, verdicts))
    may_be = 1 <= len(values) <= 2 and (are_sides or compares(table, reading))
    if reading.order is not None or may_be:
        problem = f'the column "{column}" has other values than AB and BA: {shown}'
        remedies = [
            Remedy(text="write AB and BA there"),
            leave_out("order") if reading.order else use(order=Placeholder("COLUMN")),
        ]
        raise InputError(problem, name, remedies)
    notes.append(f'the column "{column}" is not used: its values are not AB and BA, but {shown}')


def orders_of(table: pl.DataFrame) -> SmallCodes | None:
    """Return 0 for AB or the name of the first system, 1 for BA or the second, -1 for blank; None
    for other values.
    """
    if "order" not in table.columns:
        return None
    column = table["order"]
    if "system_a" in table.columns:
        first, second = (column.eq_missing(table[side]) for side in ("system_a", "system_b"))
        if (first | second | column.is_null()).all():
            return np.where(column.is_null(), -1, second.cast(pl.Int8)).astype(np.int8)
    words = {value: bare_name(value).replace(",", "") for value in column.drop_nulls().unique()}
    # numbers from 0 or from 1
    numbers: dict[str, int] = next(
        (each for each in ({"0": 0, "1": 1}, {"1": 0, "2": 1}) if each.keys() >= {*words.values()}),
        {},
    )
    known = ORDERS | numbers
    if not words or not known.keys() >= {*words.values()}:
        return None
    by_value = {value: known[word] for value, word in words.items()}
    codes: SmallCodes = replaced(column, by_value, -1, pl.Int8)
    return codes


def compares(table: pl.DataFrame, reading: LogReading) -> bool:
    """Return whether verdicts, or truths beside them, compare two answers."""
    if reading.kind is not None:
        return reading.kind == "pairwise"
    if "system_a" in table.columns:
        return True
    texts, golds = (
        table[role].drop_nulls().unique(maintain_order=True).head(LOOKED_AT).to_list()
        if role in table.columns
        else []
        for role in ("verdict", "gold")
    )
    verdicts = [part for text in texts if (part := reading.said(text)) is not None]
    said = [class_of(text) for text in verdicts]
    if orders_of(table) is not None:
        if {"ab", "ba"} & set(table["order"].drop_nulls().str.to_lowercase().unique()):
            return True
        if sum(map(is_pairwise, verdicts)) >= MOSTLY * sum(isinstance(each, str) for each in said):
            return True
    classes = {each.casefold() for each in said if isinstance(each, str)}
    if {"a", "b"} <= classes <= {"a", "b", "c"}:
        return True
    return any(is_pairwise(text, clearly=True) for text in (*verdicts, *golds))


def replaced(
    column: pl.Series, codes: Mapping[str, int], default: int, dtype: Any = pl.Int32
) -> Any:
    """Return the code of each text; those without one, and nulls, have the default."""
    found = column.replace_strict(codes, default=default, return_dtype=dtype)
    return found.fill_null(default).to_numpy().copy()
