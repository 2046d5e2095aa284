-- The store: its table, and the functions that read and write it. Namespaces are paths that contain no zero byte, so an entry
-- sorts by its namespace, a zero byte and its key. The time is that of the caller, in milliseconds.

-- `place` is the SHA-256 of that text, as an index has no room for a long one. `words` are those of the texts in the value.
CREATE TABLE @.item (
    place bytea PRIMARY KEY,
    namespace bytea NOT NULL,
    key bytea NOT NULL,
    created bigint NOT NULL,
    updated bigint NOT NULL,
    expires bigint,
    value text NOT NULL,
    words text[] COLLATE "C" NOT NULL
);
CREATE INDEX item_order ON @.item (substr(namespace || '\x00'::bytea || key, 1, 400));
CREATE INDEX item_expires ON @.item (expires) WHERE expires IS NOT NULL;
CREATE INDEX item_words ON @.item USING gin (words);

CREATE FUNCTION @.get_item(_namespace bytea, _key bytea)
RETURNS TABLE (namespace bytea, key bytea, created bigint, updated bigint, expires bigint, value text)
LANGUAGE sql STABLE AS $$
    SELECT h.namespace, h.key, h.created, h.updated, h.expires, h.value
    FROM @.item h WHERE h.place = sha256(_namespace || '\x00'::bytea || _key)
$$;

-- An entry that replaces an expired one is new.
CREATE FUNCTION @.put_item(_namespace bytea, _key bytea, _value text, _words text[], _now bigint, _expires bigint)
RETURNS void LANGUAGE sql AS $$
    INSERT INTO @.item AS h (place, namespace, key, created, updated, expires, value, words)
    VALUES (sha256(_namespace || '\x00'::bytea || _key), _namespace, _key, _now, _now, _expires, _value, _words)
    ON CONFLICT (place) DO UPDATE SET
        created = CASE WHEN h.expires IS NULL OR _now < h.expires THEN h.created ELSE _now END,
        updated = excluded.updated, expires = excluded.expires, value = excluded.value, words = excluded.words
$$;

-- Returns true for an entry that had not expired.
CREATE FUNCTION @.delete_item(_namespace bytea, _key bytea, _now bigint) RETURNS SETOF boolean
LANGUAGE sql AS $$
    DELETE FROM @.item h WHERE h.place = sha256(_namespace || '\x00'::bytea || _key)
    RETURNING h.expires IS NULL OR _now < h.expires
$$;

-- The entries of a namespace and of those below it, which end before `_end`, in order. The server replaces a call of this
-- function and of the next one by their queries, and plans these for the arguments.
CREATE FUNCTION @.search_items(_namespace bytea, _end bytea, _words text[], _now bigint, _limit bigint)
RETURNS TABLE (namespace bytea, key bytea, created bigint, updated bigint, expires bigint, value text)
LANGUAGE sql STABLE AS $$
    SELECT h.namespace, h.key, h.created, h.updated, h.expires, h.value FROM @.item h
    WHERE substr(h.namespace || '\x00'::bytea || h.key, 1, 400) >= substr(_namespace, 1, 400)
        AND (_end IS NULL OR substr(h.namespace || '\x00'::bytea || h.key, 1, 400) <= substr(_end, 1, 400))
        AND h.namespace >= _namespace AND (_end IS NULL OR h.namespace < _end)
        AND (_words IS NULL OR h.words @> _words) AND (h.expires IS NULL OR _now < h.expires)
    ORDER BY substr(h.namespace || '\x00'::bytea || h.key, 1, 400), h.namespace, h.key LIMIT _limit
$$;

CREATE FUNCTION @.item_namespaces(_namespace bytea, _end bytea, _now bigint) RETURNS SETOF bytea
LANGUAGE sql STABLE AS $$
    SELECT DISTINCT h.namespace FROM @.item h
    WHERE substr(h.namespace || '\x00'::bytea || h.key, 1, 400) >= substr(_namespace, 1, 400)
        AND (_end IS NULL OR substr(h.namespace || '\x00'::bytea || h.key, 1, 400) <= substr(_end, 1, 400))
        AND h.namespace >= _namespace AND (_end IS NULL OR h.namespace < _end)
        AND (h.expires IS NULL OR _now < h.expires)
    ORDER BY h.namespace
$$;

CREATE FUNCTION @.sweep_items(_now bigint) RETURNS bigint
LANGUAGE sql AS $$
    WITH gone AS (DELETE FROM @.item h WHERE h.expires <= _now RETURNING 1) SELECT count(*) FROM gone
$$;
