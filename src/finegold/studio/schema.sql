-- The tables of a project file. A change needs a new VERSION in store.py.
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
    crashed INTEGER NOT NULL DEFAULT 0,  -- whether the studio ended while it read the file
    failure TEXT,                        -- why its file could not be read
    content INTEGER REFERENCES blob,     -- the content of the tasks, a Parquet file
    options TEXT,                        -- the labels that each task was asked about if votes are sets of labels, JSON
    template TEXT,                       -- how the content of a task is shown
    remote INTEGER NOT NULL DEFAULT 0,   -- whether images of other servers may be loaded
    blind INTEGER NOT NULL DEFAULT 1     -- whether votes are hidden until a task is judged
);
CREATE TABLE fit (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    project INTEGER NOT NULL REFERENCES project ON DELETE CASCADE,
    method TEXT NOT NULL,
    settings TEXT NOT NULL,
    state TEXT NOT NULL,                 -- queued, running, done, failed, cancelled, interrupted, replaced
    started TEXT NOT NULL,
    facts TEXT,                          -- summary figures, JSON
    message TEXT NOT NULL DEFAULT '',    -- why it failed
    model INTEGER REFERENCES blob        -- the saved result, with its votes
);
CREATE INDEX fit_of_project ON fit (project);
CREATE TABLE opening (                   -- results that are being opened
    fit INTEGER PRIMARY KEY REFERENCES fit ON DELETE CASCADE,
    threads INTEGER NOT NULL,            -- how many threads open it now
    crashed INTEGER NOT NULL DEFAULT 0   -- whether the studio ended meanwhile
);
CREATE TABLE predictions (               -- files with class probabilities of models
    project INTEGER NOT NULL REFERENCES project ON DELETE CASCADE,
    name TEXT NOT NULL,                  -- of the file
    file INTEGER NOT NULL REFERENCES blob,
    facts TEXT NOT NULL,                 -- what was read of it, JSON
    PRIMARY KEY (project, name)
) WITHOUT ROWID;
CREATE TABLE gold (
    project INTEGER NOT NULL REFERENCES project ON DELETE CASCADE,
    task TEXT NOT NULL,                  -- names as JSON: 7 is not "7"
    label TEXT NOT NULL,
    at TEXT NOT NULL,
    reviewer TEXT NOT NULL,
    label_then TEXT,                     -- the label of the task when it was judged
    PRIMARY KEY (project, task)
) WITHOUT ROWID;
CREATE TABLE action (                    -- everything that reviewers did, to be undone
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    project INTEGER NOT NULL REFERENCES project ON DELETE CASCADE,
    task TEXT NOT NULL,
    kind TEXT NOT NULL,                  -- judge, skip or send_back
    before TEXT,
    after TEXT,
    reviewer TEXT NOT NULL,
    earlier TEXT NOT NULL,               -- the judgement before this one, JSON
    at TEXT NOT NULL,
    undone INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX action_of_project ON action (project, task);
CREATE TABLE aside (                     -- tasks that reviewers did not judge
    project INTEGER NOT NULL REFERENCES project ON DELETE CASCADE,
    task TEXT NOT NULL,
    kind TEXT NOT NULL,                  -- skip or send_back
    reviewer TEXT NOT NULL,
    n_votes INTEGER NOT NULL,            -- that the task had
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
CREATE TABLE posted (                    -- votes that were posted, in batches
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    project INTEGER NOT NULL REFERENCES project ON DELETE CASCADE,
    n_votes INTEGER NOT NULL,
    votes TEXT NOT NULL,
    taken INTEGER NOT NULL DEFAULT 0,    -- whether they are among the votes of the base; else the next fit uses them
    at TEXT NOT NULL,                    -- when they were posted
    source TEXT NOT NULL DEFAULT '',     -- the file that they came from
    facts TEXT                           -- what was new, repeated and changed, JSON
);
CREATE INDEX posted_of_project ON posted (project);
CREATE TABLE blob (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    digest TEXT                          -- SHA-256 of its bytes
);
CREATE TABLE piece (
    blob INTEGER NOT NULL REFERENCES blob ON DELETE CASCADE,
    number INTEGER NOT NULL,
    bytes BLOB NOT NULL,
    PRIMARY KEY (blob, number)
);
CREATE TABLE layer (                     -- texts and images of the tasks that came after the votes
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    project INTEGER NOT NULL REFERENCES project ON DELETE CASCADE,
    name TEXT NOT NULL,                  -- of the table or the folder
    n_tasks INTEGER NOT NULL,
    file INTEGER NOT NULL REFERENCES blob,
    batch INTEGER REFERENCES posted ON DELETE CASCADE,  -- the votes that it came with
    at TEXT NOT NULL
);
CREATE TABLE audit (                     -- random samples of tasks that people check
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    project INTEGER NOT NULL REFERENCES project ON DELETE CASCADE,
    fit INTEGER NOT NULL,                -- the result whose labels are measured
    plan TEXT NOT NULL,                  -- JSON
    auditors TEXT NOT NULL,              -- names of those who share the tasks, JSON; empty: anybody
    overlap REAL NOT NULL,               -- the share of the tasks that all of them check
    certificate TEXT,                    -- what the answers show, JSON
    at TEXT NOT NULL
);
CREATE TABLE answer (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    audit INTEGER NOT NULL REFERENCES audit ON DELETE CASCADE,
    task TEXT NOT NULL,
    reviewer TEXT NOT NULL,
    label TEXT NOT NULL,
    settles INTEGER NOT NULL DEFAULT 0,  -- whether the lead settled a disagreement with it
    at TEXT NOT NULL,
    UNIQUE (audit, task, reviewer, settles)
);
CREATE TABLE person (                    -- reviewers who were invited on the page
    name TEXT PRIMARY KEY,
    project INTEGER NOT NULL REFERENCES project ON DELETE CASCADE,
    session TEXT NOT NULL UNIQUE,        -- of the token, which is not kept
    at TEXT NOT NULL
) WITHOUT ROWID;
-- A file goes with the row that it belongs to.
CREATE TRIGGER project_gone AFTER DELETE ON project BEGIN DELETE FROM blob WHERE id IN (old.upload, old.content); END;
CREATE TRIGGER content_gone AFTER UPDATE OF content ON project BEGIN DELETE FROM blob WHERE id = old.content; END;
CREATE TRIGGER fit_gone AFTER DELETE ON fit BEGIN DELETE FROM blob WHERE id = old.model; END;
CREATE TRIGGER model_gone AFTER UPDATE OF model ON fit BEGIN DELETE FROM blob WHERE id = old.model; END;
CREATE TRIGGER predictions_gone AFTER DELETE ON predictions BEGIN DELETE FROM blob WHERE id = old.file; END;
CREATE TRIGGER layer_gone AFTER DELETE ON layer BEGIN DELETE FROM blob WHERE id = old.file; END;
