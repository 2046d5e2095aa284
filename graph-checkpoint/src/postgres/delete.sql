-- The functions that delete. Their callers have locked the table `thread`, except for `sweep_changes`.

CREATE FUNCTION @.count_cut() RETURNS bigint
LANGUAGE sql AS $$
    UPDATE @.format f SET cuts = f.cuts + 1 RETURNING f.cuts
$$;

-- Deletes the changes of pruned checkpoints of these trees to which nothing refers any longer.
CREATE FUNCTION @.sweep_changes(_roots bigint[], OUT changes bigint, OUT bytes bigint)
LANGUAGE plpgsql AS $$
BEGIN
    changes := 0;
    bytes := 0;
    IF NOT EXISTS (SELECT 1 FROM @.remaining_change r WHERE r.root = ANY(_roots)) THEN
        RETURN;
    END IF;
    WITH RECURSIVE needed(checkpoint, field) AS (
        SELECT n.* FROM (
            SELECT v.checkpoint, coalesce(c.version_fields[v.n], v.n - 1)::integer
            FROM @.checkpoint c CROSS JOIN unnest(c.versions) WITH ORDINALITY AS v(checkpoint, n)
            WHERE c.root = ANY(_roots) AND v.checkpoint IS NOT NULL
            UNION ALL
            SELECT h.prev, h.prev_field FROM @.checkpoint c JOIN @.change h ON h.checkpoint = c.seq
            WHERE c.root = ANY(_roots) AND h.prev IS NOT NULL
        ) n
        UNION
        SELECT h.prev, h.prev_field
        FROM needed n JOIN @.change h ON h.checkpoint = n.checkpoint AND h.field = n.field WHERE h.prev IS NOT NULL
    ), unused AS (
        DELETE FROM @.remaining_change r WHERE r.root = ANY(_roots)
            AND NOT EXISTS (SELECT 1 FROM needed n WHERE n.checkpoint = r.checkpoint AND n.field = r.field)
        RETURNING r.checkpoint, r.field
    ), gone AS (
        DELETE FROM @.change h USING unused u WHERE h.checkpoint = u.checkpoint AND h.field = u.field
        RETURNING octet_length(h.text) AS bytes
    )
    SELECT count(*), coalesce(sum(g.bytes), 0) INTO changes, bytes FROM gone g;
END $$;

-- Deletes checkpoints of these owners and whole threads; other threads keep the part that is still needed, under new names.
CREATE FUNCTION @.remove(_going bigint[], _owners bigint[], _gone bigint[], _left bigint[], _names bytea[], _heads bigint[])
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    _ends bigint[] := _gone || _left;
    _roots bigint[] := ARRAY(SELECT DISTINCT c.root FROM @.checkpoint c WHERE c.seq = ANY(_going));
BEGIN
    PERFORM @.count_cut();
    DELETE FROM @.change h WHERE h.checkpoint = ANY(_going);
    DELETE FROM @.emitted e WHERE e.checkpoint = ANY(_going);
    DELETE FROM @.pending p USING unnest(_going, _owners) AS g(seq, owner) WHERE p.thread = g.owner AND p.base = g.seq;
    DELETE FROM @.ask a USING unnest(_going, _owners) AS g(seq, owner) WHERE a.thread = g.owner AND a.base = g.seq;
    DELETE FROM @.effect e USING unnest(_going, _owners) AS g(seq, owner) WHERE e.thread = g.owner AND e.base = g.seq;
    DELETE FROM @.checkpoint c WHERE c.seq = ANY(_going);
    PERFORM @.sweep_changes(_roots);
    DELETE FROM @.named n WHERE n.thread = ANY(_ends);
    DELETE FROM @.pending p WHERE p.thread = ANY(_gone);
    DELETE FROM @.ask a WHERE a.thread = ANY(_gone);
    DELETE FROM @.effect e WHERE e.thread = ANY(_gone);
    DELETE FROM @.pending p USING unnest(_left, _heads) AS l(thread, head) WHERE p.thread = l.thread AND p.base = l.head;
    DELETE FROM @.ask a USING unnest(_left, _heads) AS l(thread, head)
        WHERE a.thread = l.thread AND a.base = l.head AND a.answer IS NULL;
    DELETE FROM @.effect e USING unnest(_left, _heads) AS l(thread, head)
        WHERE e.thread = l.thread AND e.base = l.head AND e.outcome IS NULL;
    DELETE FROM @.thread t WHERE t.id = ANY(_gone);
    UPDATE @.thread t SET name = l.name, head = l.head
        FROM unnest(_left, _names, _heads) AS l(thread, name, head) WHERE t.id = l.thread;
END $$;

-- Deletes pruned checkpoints and changes, and returns the bytes of their texts. `_left` are reduced to their state;
-- `_remaining` are changes of deleted checkpoints that stay; `_workers` and `_bases` are the places of work that goes.
CREATE FUNCTION @.prune(_going bigint[], _left bigint[], _parents bigint[], _workers bigint[], _bases bigint[],
    _unneeded bigint[], _unneeded_fields integer[], _remaining bigint[], _remaining_fields integer[], _roots bigint[])
RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    _bytes bigint;
    _more bigint;
BEGIN
    WITH gone AS (
        DELETE FROM @.change h USING unnest(_unneeded, _unneeded_fields) AS u(checkpoint, field)
        WHERE h.checkpoint = u.checkpoint AND h.field = u.field RETURNING octet_length(h.text) AS bytes
    )
    SELECT coalesce(sum(g.bytes), 0) INTO _bytes FROM gone g;
    DELETE FROM @.remaining_change r USING unnest(_unneeded, _unneeded_fields) AS u(checkpoint, field)
        WHERE r.checkpoint = u.checkpoint AND r.field = u.field;
    WITH gone AS (DELETE FROM @.emitted e WHERE e.checkpoint = ANY(_going || _left) RETURNING octet_length(e.text) AS bytes)
    SELECT coalesce(sum(g.bytes), 0) INTO _more FROM gone g;
    _bytes := _bytes + _more;
    WITH gone AS (DELETE FROM @.checkpoint c WHERE c.seq = ANY(_going) RETURNING octet_length(c.manifest) AS bytes)
    SELECT coalesce(sum(g.bytes), 0) INTO _more FROM gone g;
    _bytes := _bytes + _more;
    SELECT coalesce(sum(octet_length(c.manifest) - 2), 0) INTO _more FROM @.checkpoint c WHERE c.seq = ANY(_left);
    _bytes := _bytes + _more;
    UPDATE @.checkpoint c SET source = 4, parent = l.parent, leads_on = false, manifest = '{}'
        FROM unnest(_left, _parents) AS l(seq, parent) WHERE c.seq = l.seq;
    DELETE FROM @.pending p USING unnest(_workers, _bases) AS w(thread, base) WHERE p.thread = w.thread AND p.base = w.base;
    DELETE FROM @.ask a USING unnest(_workers, _bases) AS w(thread, base) WHERE a.thread = w.thread AND a.base = w.base;
    DELETE FROM @.effect e USING unnest(_workers, _bases) AS w(thread, base) WHERE e.thread = w.thread AND e.base = w.base;
    INSERT INTO @.remaining_change(checkpoint, field, root)
        SELECT * FROM unnest(_remaining, _remaining_fields, _roots) ON CONFLICT DO NOTHING;
    RETURN _bytes;
END $$;
