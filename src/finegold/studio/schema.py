"""The tables of a project file, and how files of earlier versions are upgraded."""

from __future__ import annotations

__all__ = ["ADDED", "SCHEMA", "SCHEMA_VERSION", "UPGRADES", "VERSION"]

SCHEMA_VERSION = 2  # of `SCHEMA`
VERSION = 3  # after all upgrades

SCHEMA = """
CREATE TABLE project (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL,
    created TEXT NOT NULL,
    version INTEGER NOT NULL DEFAULT 1,  -- counts every change
    file TEXT,                           -- the name of the file with the votes
    place TEXT,                          -- where in the folder it is, if it was opened there
    upload INTEGER REFERENCES blob,      -- its bytes, if it was sent
    reading TEXT,                        -- how its columns were read, JSON
    base INTEGER REFERENCES fit,         -- the majority vote, with the votes and the gold of the file
    shown INTEGER REFERENCES fit,        -- the fit that is looked at
    opening INTEGER NOT NULL DEFAULT 0,  -- how many threads read its file now
    crashed INTEGER NOT NULL DEFAULT 0   -- whether the studio ended while it read the file
);
CREATE TABLE fit (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    project INTEGER NOT NULL REFERENCES project ON DELETE CASCADE,
    method TEXT NOT NULL,
    settings TEXT NOT NULL,
    state TEXT NOT NULL,                 -- queued, running, done, failed, cancelled, interrupted, replaced
    started TEXT NOT NULL,
    facts TEXT,                          -- what it came to, JSON
    message TEXT NOT NULL DEFAULT '',    -- why it failed
    model INTEGER REFERENCES blob        -- the saved result, with its votes
);
CREATE INDEX fit_of_project ON fit (project);
CREATE TABLE gold (
    project INTEGER NOT NULL REFERENCES project ON DELETE CASCADE,
    task TEXT NOT NULL,                  -- names as JSON: 7 is not "7"
    label TEXT NOT NULL,
    at TEXT NOT NULL,
    PRIMARY KEY (project, task)
) WITHOUT ROWID;
CREATE TABLE action (                    -- every change of the gold, to be undone
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    project INTEGER NOT NULL REFERENCES project ON DELETE CASCADE,
    task TEXT NOT NULL,
    before TEXT,
    after TEXT,
    at TEXT NOT NULL,
    undone INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX action_of_project ON action (project, task);
CREATE TABLE posted (                    -- votes that were posted, in batches
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    project INTEGER NOT NULL REFERENCES project ON DELETE CASCADE,
    n_votes INTEGER NOT NULL,
    votes TEXT NOT NULL,
    taken INTEGER NOT NULL DEFAULT 0,    -- whether they are among the votes of the base; else the next fit takes them
    at TEXT NOT NULL DEFAULT ''          -- when they were posted
);
CREATE INDEX posted_of_project ON posted (project);
CREATE TABLE blob (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    whole INTEGER NOT NULL DEFAULT 0,
    digest TEXT                          -- SHA-256 of its bytes
);
CREATE TABLE piece (
    blob INTEGER NOT NULL REFERENCES blob ON DELETE CASCADE,
    number INTEGER NOT NULL,
    bytes BLOB NOT NULL,
    PRIMARY KEY (blob, number)
);
"""

# Tables that are created in every project file; older versions of Finegold ignore them.
ADDED = (
    """
    CREATE TABLE IF NOT EXISTS opening (     -- results that are being opened
        fit INTEGER PRIMARY KEY REFERENCES fit ON DELETE CASCADE,
        threads INTEGER NOT NULL,            -- how many threads open it now
        crashed INTEGER NOT NULL DEFAULT 0   -- whether the studio ended meanwhile
    )
    """,
    """
    CREATE TABLE IF NOT EXISTS predictions ( -- files with class probabilities of models
        project INTEGER NOT NULL REFERENCES project ON DELETE CASCADE,
        name TEXT NOT NULL,                  -- of the file
        file INTEGER NOT NULL REFERENCES blob,
        facts TEXT NOT NULL,                 -- what was read of it, JSON
        PRIMARY KEY (project, name)
    ) WITHOUT ROWID
    """,
)

# How a file of each version becomes one of the next version. New files have the schema above and are upgraded.
UPGRADES = {
    1: """
    ALTER TABLE project ADD COLUMN opening INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE project ADD COLUMN crashed INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE posted ADD COLUMN at TEXT NOT NULL DEFAULT '';
    ALTER TABLE blob ADD COLUMN digest TEXT;
    """,
    2: """
    ALTER TABLE project ADD COLUMN blind INTEGER NOT NULL DEFAULT 1;  -- whether votes are hidden until a task is judged
    UPDATE project SET blind = 0;                                     -- of before: they stay as they were
    ALTER TABLE project ADD COLUMN template TEXT;                     -- how the content of a task is shown
    ALTER TABLE project ADD COLUMN remote INTEGER NOT NULL DEFAULT 0; -- whether images of other servers may be loaded
    ALTER TABLE project ADD COLUMN content INTEGER REFERENCES blob;   -- the content of the tasks, a Parquet file
    ALTER TABLE project ADD COLUMN failure TEXT;                      -- why its file could not be read
    ALTER TABLE gold ADD COLUMN reviewer TEXT NOT NULL DEFAULT '';
    ALTER TABLE gold ADD COLUMN label_then TEXT;                      -- the label of the task when it was judged
    ALTER TABLE action ADD COLUMN kind TEXT NOT NULL DEFAULT 'judge'; -- judge, skip or send_back
    ALTER TABLE action ADD COLUMN reviewer TEXT NOT NULL DEFAULT '';
    ALTER TABLE action ADD COLUMN earlier TEXT;                       -- the judgement before this one, JSON
    CREATE TABLE aside (                                              -- tasks that reviewers did not judge
        project INTEGER NOT NULL REFERENCES project ON DELETE CASCADE,
        task TEXT NOT NULL,
        kind TEXT NOT NULL,                                           -- skip or send_back
        reviewer TEXT NOT NULL,
        n_votes INTEGER NOT NULL,                                     -- that the task had
        at TEXT NOT NULL,
        PRIMARY KEY (project, task, kind, reviewer)
    ) WITHOUT ROWID;
    CREATE TABLE note (
        project INTEGER NOT NULL REFERENCES project ON DELETE CASCADE,
        task TEXT NOT NULL,
        text TEXT NOT NULL,
        reviewer TEXT NOT NULL,
        at TEXT NOT NULL,
        PRIMARY KEY (project, task)
    ) WITHOUT ROWID;
    """,
}
