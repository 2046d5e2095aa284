-- The tables of format 1, in the schema that the saver uses.
-- Names are bytes: they may contain any character, and sort by their bytes. They are found by their hashes, because an
-- index has no room for a long name. Texts are JSON, unchanged; they contain no zero byte. Those of checkpoints, of work and of
-- the store begin with their checksums, and in an encrypted schema most texts are encrypted: see stored.rs.

-- `cuts` counts the deletions of checkpoints and the imports. A pruning that finds another number reads everything again.
CREATE TABLE @.format (version integer NOT NULL, cuts bigint NOT NULL DEFAULT 0);

-- The keys of an encrypted schema. `schema` is the id of this one, and `proof` its secret, encrypted with the key.
CREATE TABLE @.encryption (
    key bytea PRIMARY KEY,
    schema bytea NOT NULL,
    proof text NOT NULL,
    added timestamptz NOT NULL DEFAULT clock_timestamp()
);

CREATE TABLE @.described_state (
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    fingerprint bytea NOT NULL UNIQUE,
    text text NOT NULL
);

CREATE TABLE @.described_graph (
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    fingerprint bytea NOT NULL UNIQUE,
    graph bytea NOT NULL,
    text text NOT NULL
);

-- The head changes with each commit, so pages have room for the new version of a row. `request`, also of other tables, is the
-- id of the request that has made or changed a row, so that it is known when it is sent again: see `Repeat` in database.rs.
CREATE TABLE @.thread (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name bytea NOT NULL,
    graph bytea NOT NULL,
    head bigint NOT NULL,
    request uuid
) WITH (fillfactor = 50);
CREATE UNIQUE INDEX thread_name ON @.thread (sha256(name));
CREATE INDEX thread_order ON @.thread (substr(name, 1, 200));

CREATE SEQUENCE @.position;

-- `root` is the first checkpoint of the tree. `versions` names, for each field, the checkpoint with its latest version;
-- `version_fields` the number of the field there, or null if all numbers are the same. `leads_on` is true if there are next
-- nodes. A checkpoint with the source 4 was pruned: its values can be read, and nothing continues from it.
CREATE TABLE @.checkpoint (
    seq bigint PRIMARY KEY,
    id uuid NOT NULL UNIQUE,
    parent bigint,
    root bigint NOT NULL,
    thread bigint NOT NULL,
    run uuid NOT NULL,
    step bigint NOT NULL,
    source smallint NOT NULL,
    state integer NOT NULL,
    graph integer NOT NULL,
    leads_on boolean NOT NULL,
    versions bigint[] NOT NULL,
    version_fields integer[],
    manifest text NOT NULL
);
CREATE INDEX checkpoint_thread ON @.checkpoint (thread);
CREATE INDEX checkpoint_root ON @.checkpoint (root);

-- The operations of a checkpoint on one field, with the version of the field on which they build. `id` is that of the
-- checkpoint, also when its row was pruned.
CREATE TABLE @.change (
    checkpoint bigint NOT NULL,
    id uuid NOT NULL,
    field integer NOT NULL,
    place integer NOT NULL,
    prev bigint,
    prev_field integer,
    text text NOT NULL,
    PRIMARY KEY (checkpoint, field)
);

-- The changes whose checkpoints were pruned. Other checkpoints of the same tree need them.
CREATE TABLE @.remaining_change (
    checkpoint bigint NOT NULL,
    field integer NOT NULL,
    root bigint NOT NULL,
    PRIMARY KEY (checkpoint, field)
);
CREATE INDEX remaining_change_root ON @.remaining_change (root);

-- `recorded` is the digest of a result; null for a failure.
CREATE TABLE @.pending (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    thread bigint NOT NULL,
    base bigint NOT NULL,
    task bytea NOT NULL,
    recorded numeric,
    text text NOT NULL,
    UNIQUE (thread, base, task)
);

CREATE TABLE @.ask (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    thread bigint NOT NULL,
    base bigint NOT NULL,
    interrupt bytea NOT NULL,
    task bytea NOT NULL,
    text text NOT NULL,
    deadline numeric,
    fallback text,
    answer text,
    by_deadline boolean NOT NULL DEFAULT false,
    request uuid,
    UNIQUE (thread, base, interrupt)
);
CREATE INDEX ask_open ON @.ask (deadline) WHERE answer IS NULL;

-- `text` is the id of the effect, and `slot` its task and a hash of the id; `recorded` is the digest of a success.
CREATE TABLE @.effect (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    thread bigint NOT NULL,
    base bigint NOT NULL,
    slot bytea NOT NULL,
    text text NOT NULL,
    attempt bigint NOT NULL,
    starts bigint NOT NULL,
    token bytea NOT NULL,
    outcome text,
    recorded numeric,
    request uuid,
    UNIQUE (thread, base, slot)
);

CREATE TABLE @.emitted (
    checkpoint bigint NOT NULL,
    task bigint NOT NULL,
    text text NOT NULL,
    PRIMARY KEY (checkpoint, task)
);

CREATE TABLE @.named (
    thread bigint NOT NULL,
    name bytea NOT NULL,
    checkpoint bigint NOT NULL,
    request uuid,
    PRIMARY KEY (thread, name)
);

CREATE TABLE @.lease (
    fence bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    thread bytea NOT NULL,
    holder bytea NOT NULL,
    ttl numeric NOT NULL,
    renewed bigint NOT NULL,
    request uuid
);
CREATE UNIQUE INDEX lease_thread ON @.lease (sha256(thread));

-- A part of an answer: its kind, numbers, bytes and texts.
CREATE TYPE @.part AS (k integer, i bigint[], b bytea[], t text[]);
