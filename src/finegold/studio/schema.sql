-- The tables of a project file. A change needs a new VERSION in store.py. Names are kept as JSON: 7 is not "7".
CREATE TABLE project (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL,
    created TEXT NOT NULL,
    version INTEGER NOT NULL DEFAULT 1,     -- counts every change
    shown INTEGER REFERENCES fit,           -- the fit that is looked at
    loading INTEGER NOT NULL DEFAULT 0,     -- 1 while it is read or opened; 2 if the studio ended meanwhile
    excluded TEXT NOT NULL DEFAULT '[]',    -- annotators whose votes do not count, JSON
    guidelines TEXT NOT NULL DEFAULT '',    -- what annotators and reviewers were told, Markdown
    remote INTEGER NOT NULL DEFAULT 0,      -- whether images of other servers may be loaded
    blind INTEGER NOT NULL DEFAULT 1        -- whether votes are hidden until a task is judged
);
CREATE TABLE source (                       -- everything that arrives in a project
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    project INTEGER NOT NULL REFERENCES project ON DELETE CASCADE,
    kind TEXT NOT NULL,                     -- votes, items, predictions or truths
    state TEXT NOT NULL,                    -- draft (looked at), in (used) or out (removed)
    name TEXT NOT NULL,                     -- of the file or the folder
    place TEXT,                             -- its name in the folder of the studio, if it lies there
    blob INTEGER,                           -- its bytes, if it was sent
    content INTEGER,                        -- the blob of what its tasks look like, a Parquet file
    reading TEXT NOT NULL DEFAULT '{}',     -- how it is read, JSON
    facts TEXT NOT NULL DEFAULT '{}',       -- what was found in it, JSON
    at TEXT NOT NULL
);
CREATE TABLE fit (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    project INTEGER NOT NULL REFERENCES project ON DELETE CASCADE,
    method TEXT NOT NULL,
    settings TEXT NOT NULL,
    state TEXT NOT NULL,                    -- queued, running, done, failed, cancelled, interrupted, replaced
    started TEXT NOT NULL,
    facts TEXT,                             -- summary figures, JSON
    message TEXT NOT NULL DEFAULT '',       -- why it failed
    model INTEGER                           -- the blob of the saved result, with its votes
);
CREATE TABLE sample (                       -- random samples of tasks that people check
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    project INTEGER NOT NULL REFERENCES project ON DELETE CASCADE,
    fit INTEGER NOT NULL,                   -- the result that it was drawn from
    plan TEXT NOT NULL,                     -- JSON
    auditors TEXT NOT NULL,                 -- those who share the tasks, JSON; empty: anybody
    overlap REAL NOT NULL,                  -- the share of the tasks that all of them check
    closed INTEGER NOT NULL DEFAULT 0,      -- whether the lead ended it early
    at TEXT NOT NULL
);
CREATE TABLE judgement (                    -- everything that people and files say; nothing is ever deleted
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    project INTEGER NOT NULL REFERENCES project ON DELETE CASCADE,
    sample INTEGER REFERENCES sample,       -- an answer of a random sample; else it is about the labels
    source INTEGER REFERENCES source,       -- the file that said so
    task TEXT NOT NULL,
    kind TEXT NOT NULL,                     -- truth, skip, send_back, note, settle or accept
    value TEXT,                             -- the class (null: none), the note, or what was accepted, JSON
    label_then TEXT,                        -- the label when the task was judged, if no truth decided it, JSON
    n_votes INTEGER NOT NULL DEFAULT 0,     -- that the task had then
    reviewer TEXT NOT NULL,                 -- blank: the owner, without a name
    at TEXT NOT NULL,
    undone INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX judgement_of_project ON judgement (project, kind, task);
CREATE INDEX judgement_of_sample ON judgement (sample);
CREATE TABLE person (                       -- reviewers who were invited on the page
    name TEXT PRIMARY KEY,
    project INTEGER NOT NULL REFERENCES project ON DELETE CASCADE,
    session TEXT NOT NULL UNIQUE,           -- of the token, which is not kept
    at TEXT NOT NULL,
    revoked INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
CREATE TABLE blob (                         -- files, in parts
    id INTEGER NOT NULL,
    part INTEGER NOT NULL,
    bytes BLOB NOT NULL,
    PRIMARY KEY (id, part)
);
