-- The functions that read. Each call reads one snapshot. The kinds of parts are those of `kind` in parts.rs. Walks along a past
-- are estimated to cost far more than they do, so their queries are not compiled, and `LATERAL` with `LIMIT` looks each row up
-- in the index: the planner would read a whole table at each step.

-- Finds a checkpoint as seen from a thread: the head (0), the one with an id (1) or a name (2), or the one that a previous
-- page has led to (3). `worker` is the thread whose work on it is visible.
CREATE FUNCTION @.place_at(_name bytea, _kind integer, _id uuid, _label bytea, _seq bigint, _worker bigint,
    OUT thread bigint, OUT graph bytea, OUT seq bigint, OUT worker bigint, OUT head boolean)
LANGUAGE plpgsql STABLE AS $$
DECLARE
    _head bigint;
    _owner bigint;
BEGIN
    SELECT t.id, t.graph, t.head INTO thread, graph, _head FROM @.thread t WHERE sha256(t.name) = sha256(_name);
    IF thread IS NULL THEN
        RETURN;
    END IF;
    IF _kind = 0 THEN
        seq := _head;
    ELSIF _kind = 1 THEN
        SELECT c.seq, c.thread INTO seq, _owner FROM @.checkpoint c WHERE c.id = _id;
    ELSIF _kind = 2 THEN
        SELECT n.checkpoint, c.thread INTO seq, _owner FROM @.named n JOIN @.checkpoint c ON c.seq = n.checkpoint
        WHERE n.thread = place_at.thread AND n.name = _label;
    ELSE
        SELECT c.seq INTO seq FROM @.checkpoint c WHERE c.seq = _seq;
        worker := _worker;
    END IF;
    IF seq IS NULL THEN
        RAISE EXCEPTION 'no checkpoint' USING ERRCODE = 'SS001';
    END IF;
    head := seq = _head AND coalesce(worker = thread, true);
    IF worker IS NOT NULL THEN
        RETURN;
    END IF;
    IF seq = _head OR _owner = thread THEN
        worker := thread;
        RETURN;
    END IF;
    WITH RECURSIVE past(at, parent, writer, worker) AS (
        SELECT c.seq, c.parent, c.thread, place_at.thread FROM @.checkpoint c WHERE c.seq = _head
        UNION ALL
        SELECT c.seq, c.parent, c.thread, p.writer
        FROM past p, LATERAL (SELECT * FROM @.checkpoint c WHERE c.seq = p.parent LIMIT 1) c
        WHERE p.at > place_at.seq
    )
    SELECT past.worker INTO worker FROM past WHERE past.at = place_at.seq;
    IF worker IS NULL AND EXISTS (
        SELECT 1 FROM @.named n WHERE n.thread = place_at.thread AND n.checkpoint = place_at.seq
    ) THEN
        worker := _owner;
    END IF;
    IF worker IS NULL THEN
        RAISE EXCEPTION 'no checkpoint' USING ERRCODE = 'SS001';
    END IF;
END $$;

-- The work on top of a checkpoint.
CREATE FUNCTION @.work_on(_thread bigint, _base bigint, _head boolean) RETURNS SETOF @.part
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN QUERY SELECT 3, NULL::bigint[], ARRAY[p.task], ARRAY[p.text, p.recorded::text] FROM @.pending p
        WHERE p.thread = _thread AND p.base = _base ORDER BY p.id;
    RETURN QUERY SELECT 4, ARRAY[a.by_deadline::integer::bigint], ARRAY[a.interrupt],
            ARRAY[a.text, a.fallback, a.answer, a.deadline::text] FROM @.ask a
        WHERE a.thread = _thread AND a.base = _base AND (_head OR a.answer IS NOT NULL) ORDER BY a.id;
    RETURN QUERY SELECT 5, ARRAY[e.attempt, e.starts], ARRAY[e.token, e.slot],
            ARRAY[e.text, e.outcome, e.recorded::text] FROM @.effect e
        WHERE e.thread = _thread AND e.base = _base AND (_head OR e.outcome IS NOT NULL) ORDER BY e.id;
END $$;

-- The work of one task on top of the head of its thread. Queries of their own, so that the indexes find it among that of many
-- tasks.
CREATE FUNCTION @.work_of(_thread bigint, _base bigint, _task bytea) RETURNS SETOF @.part
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN QUERY SELECT 3, NULL::bigint[], ARRAY[p.task], ARRAY[p.text, p.recorded::text] FROM @.pending p
        WHERE p.thread = _thread AND p.base = _base AND p.task = _task;
    RETURN QUERY SELECT 4, ARRAY[a.by_deadline::integer::bigint], ARRAY[a.interrupt],
            ARRAY[a.text, a.fallback, a.answer, a.deadline::text] FROM @.ask a
        WHERE a.thread = _thread AND a.base = _base AND a.task = _task ORDER BY a.id;
    RETURN QUERY SELECT 5, ARRAY[e.attempt, e.starts], ARRAY[e.token, e.slot],
            ARRAY[e.text, e.outcome, e.recorded::text] FROM @.effect e
        WHERE e.thread = _thread AND e.base = _base AND e.slot >= _task AND e.slot < _task || '\xffffffffffffffffffffffffffffffffff'
        ORDER BY e.id;
END $$;

CREATE FUNCTION @.line(_seq bigint) RETURNS SETOF @.part
LANGUAGE sql STABLE AS $$
    SELECT 1, ARRAY[c.seq, c.parent, c.thread, c.step, c.source, c.state],
        ARRAY[uuid_send(c.id), uuid_send(p.id), t.name, uuid_send(c.run), s.fingerprint, g.fingerprint],
        ARRAY[c.manifest]
    FROM @.checkpoint c
    JOIN @.thread t ON t.id = c.thread
    JOIN @.described_state s ON s.id = c.state
    JOIN @.described_graph g ON g.id = c.graph
    LEFT JOIN @.checkpoint p ON p.seq = c.parent
    WHERE c.seq = _seq
$$;

CREATE FUNCTION @.changes_at(_seq bigint) RETURNS SETOF @.part
LANGUAGE sql STABLE AS $$
    SELECT 2, ARRAY[h.field]::bigint[], ARRAY[uuid_send(h.id)], ARRAY[h.text] FROM @.change h
    WHERE h.checkpoint = _seq ORDER BY h.place
$$;

CREATE FUNCTION @.state_of(_seq bigint) RETURNS SETOF @.part
LANGUAGE sql STABLE AS $$
    SELECT 8, NULL::bigint[], ARRAY[s.fingerprint], ARRAY[s.text]
    FROM @.checkpoint c JOIN @.described_state s ON s.id = c.state WHERE c.seq = _seq
$$;

CREATE FUNCTION @.state(_fingerprint bytea) RETURNS SETOF @.part
LANGUAGE sql STABLE AS $$
    SELECT 8, NULL::bigint[], ARRAY[s.fingerprint], ARRAY[s.text] FROM @.described_state s WHERE s.fingerprint = _fingerprint
$$;

-- The operations that make up the values at a checkpoint: by field, from older to newer.
CREATE FUNCTION @.values_at(_seq bigint) RETURNS SETOF @.part
LANGUAGE sql STABLE AS $$
    WITH RECURSIVE chain(target, checkpoint, id, field, prev, prev_field, text) AS (
        SELECT v.n - 1, h.checkpoint, h.id, h.field, h.prev, h.prev_field, h.text
        FROM @.checkpoint c CROSS JOIN unnest(c.versions) WITH ORDINALITY AS v(checkpoint, n)
        LEFT JOIN LATERAL (
            SELECT * FROM @.change h
            WHERE h.checkpoint = v.checkpoint AND h.field = coalesce(c.version_fields[v.n], v.n - 1)::integer LIMIT 1
        ) h ON true
        WHERE c.seq = _seq AND v.checkpoint IS NOT NULL
        UNION ALL
        SELECT chain.target, h.checkpoint, h.id, h.field, h.prev, h.prev_field, h.text
        FROM chain LEFT JOIN LATERAL (
            SELECT * FROM @.change h WHERE h.checkpoint = chain.prev AND h.field = chain.prev_field LIMIT 1
        ) h ON true
        WHERE chain.prev IS NOT NULL
    )
    SELECT 7, ARRAY[chain.target, chain.field], ARRAY[uuid_send(chain.id)], ARRAY[chain.text]
    FROM chain ORDER BY chain.target, chain.checkpoint
$$;

-- A checkpoint with its values and the work on top of it, or that of one task; only the work if it is the known one.
CREATE FUNCTION @.load(_name bytea, _kind integer, _id uuid, _label bytea, _seq bigint, _worker bigint, _known uuid, _task bytea)
RETURNS SETOF @.part LANGUAGE plpgsql STABLE SET jit = off AS $$
DECLARE
    p record;
    _is_known boolean;
BEGIN
    SELECT * INTO p FROM @.place_at(_name, _kind, _id, _label, _seq, _worker);
    IF p.thread IS NULL THEN
        RETURN;
    END IF;
    SELECT c.id = _known INTO _is_known FROM @.checkpoint c WHERE c.seq = p.seq;
    RETURN QUERY SELECT 0, ARRAY[p.seq, p.worker, coalesce(_is_known, false)::integer], ARRAY[p.graph], NULL::text[];
    IF NOT coalesce(_is_known, false) THEN
        RETURN QUERY SELECT * FROM @.line(p.seq);
        RETURN QUERY SELECT * FROM @.changes_at(p.seq);
        RETURN QUERY SELECT * FROM @.state_of(p.seq);
        RETURN QUERY SELECT * FROM @.values_at(p.seq);
    END IF;
    IF _task IS NULL THEN
        RETURN QUERY SELECT * FROM @.work_on(p.worker, p.seq, p.head);
    ELSE
        RETURN QUERY SELECT * FROM @.work_of(p.worker, p.seq, _task);
    END IF;
END $$;

-- The same for a checkpoint that was written on the thread, by its position.
CREATE FUNCTION @.load_own(_name bytea, _seq bigint) RETURNS SETOF @.part
LANGUAGE sql STABLE AS $$
    SELECT l.* FROM @.thread t JOIN @.checkpoint c ON c.thread = t.id AND c.seq = _seq,
        @.load(_name, 3, NULL, NULL, _seq, t.id, NULL, NULL) l
    WHERE sha256(t.name) = sha256(_name)
$$;

-- The values at a checkpoint with any id, and their schema.
CREATE FUNCTION @.values_of(_id uuid) RETURNS SETOF @.part
LANGUAGE plpgsql STABLE SET jit = off AS $$
DECLARE
    _seq bigint;
BEGIN
    SELECT c.seq INTO _seq FROM @.checkpoint c WHERE c.id = _id;
    RETURN QUERY SELECT * FROM @.state_of(_seq);
    RETURN QUERY SELECT * FROM @.values_at(_seq);
END $$;

CREATE FUNCTION @.history(_name bytea, _kind integer, _id uuid, _label bytea, _seq bigint, _worker bigint, _limit bigint)
RETURNS SETOF @.part LANGUAGE plpgsql STABLE SET jit = off AS $$
DECLARE
    p record;
BEGIN
    SELECT * INTO p FROM @.place_at(_name, _kind, _id, _label, _seq, _worker);
    IF p.thread IS NULL THEN
        RETURN;
    END IF;
    RETURN QUERY SELECT 0, ARRAY[p.seq, p.worker, 0], ARRAY[p.graph], NULL::text[];
    RETURN QUERY
        WITH RECURSIVE past(at, parent, n) AS (
            SELECT c.seq, c.parent, 1::bigint FROM @.checkpoint c WHERE c.seq = p.seq AND _limit > 0
            UNION ALL
            SELECT c.seq, c.parent, past.n + 1
            FROM past, LATERAL (SELECT * FROM @.checkpoint c WHERE c.seq = past.parent LIMIT 1) c WHERE past.n < _limit
        )
        SELECT l.* FROM past, LATERAL (SELECT * FROM @.line(past.at) LIMIT 1) l ORDER BY past.at DESC;
END $$;

CREATE FUNCTION @.steps(_name bytea, _kind integer, _id uuid, _label bytea, _seq bigint, _worker bigint, _limit bigint)
RETURNS SETOF @.part LANGUAGE plpgsql STABLE SET jit = off AS $$
DECLARE
    p record;
    _at bigint;
    _by bigint;
    _is_head boolean;
    _states integer[] := '{}';
    _count bigint := 0;
    _next record;
BEGIN
    SELECT * INTO p FROM @.place_at(_name, _kind, _id, _label, _seq, _worker);
    IF p.thread IS NULL THEN
        RETURN;
    END IF;
    _at := p.seq;
    _by := p.worker;
    _is_head := p.head;
    WHILE _count < _limit LOOP
        _count := _count + 1;
        SELECT c.parent, c.thread, c.state, c.source INTO _next FROM @.checkpoint c WHERE c.seq = _at;
        EXIT WHEN NOT FOUND;
        RETURN QUERY SELECT 0, ARRAY[_at, _by, 0], ARRAY[p.graph], NULL::text[];
        RETURN QUERY SELECT * FROM @.line(_at);
        IF NOT _next.state = ANY(_states) THEN
            _states := _states || _next.state;
            RETURN QUERY SELECT * FROM @.state_of(_at);
        END IF;
        IF _next.source = 4 THEN
            RETURN QUERY SELECT * FROM @.values_at(_at);
        ELSE
            RETURN QUERY SELECT * FROM @.changes_at(_at);
        END IF;
        RETURN QUERY SELECT * FROM @.work_on(_by, _at, _is_head);
        RETURN QUERY SELECT 6, ARRAY[e.task], NULL::bytea[], ARRAY[e.text] FROM @.emitted e
            WHERE e.checkpoint = _at ORDER BY e.task;
        _at := _next.parent;
        _by := _next.thread;
        _is_head := false;
        EXIT WHEN _at IS NULL;
    END LOOP;
END $$;

CREATE FUNCTION @.lineage(_name bytea) RETURNS SETOF @.part
LANGUAGE sql STABLE SET jit = off AS $$
    SELECT l.* FROM @.thread t JOIN @.checkpoint h ON h.seq = t.head JOIN @.checkpoint c ON c.root = h.root, @.line(c.seq) l
    WHERE sha256(t.name) = sha256(_name) ORDER BY c.seq DESC
$$;

-- The threads after a name, by name, each with its head and its open questions.
CREATE FUNCTION @.threads(_graph bytea, _unfinished boolean, _after bytea, _limit bigint) RETURNS SETOF @.part
LANGUAGE plpgsql STABLE SET jit = off AS $$
DECLARE
    _t record;
BEGIN
    FOR _t IN
        SELECT t.* FROM @.thread t JOIN @.checkpoint c ON c.seq = t.head
        WHERE (_graph IS NULL OR t.graph = _graph) AND position('\x1f'::bytea IN t.name) = 0
            AND (_after IS NULL OR (substr(t.name, 1, 200) >= substr(_after, 1, 200) AND t.name > _after))
            AND (c.leads_on OR NOT _unfinished)
        ORDER BY substr(t.name, 1, 200), t.name LIMIT _limit
    LOOP
        RETURN QUERY SELECT 0, ARRAY[_t.head, _t.id, 0], ARRAY[_t.graph, _t.name], NULL::text[];
        RETURN QUERY SELECT * FROM @.line(_t.head);
        RETURN QUERY SELECT * FROM @.work_on(_t.id, _t.head, true) w WHERE w.k = 4;
    END LOOP;
END $$;

-- The open questions on the heads of a graph's threads, by thread.
CREATE FUNCTION @.open_asks(_graph bytea) RETURNS SETOF @.part
LANGUAGE sql STABLE AS $$
    SELECT 4, ARRAY[0::bigint], ARRAY[t.name, a.interrupt], ARRAY[a.text, a.fallback, a.answer, a.deadline::text]
    FROM @.ask a JOIN @.thread t ON t.id = a.thread AND t.head = a.base
    WHERE a.answer IS NULL AND t.graph = _graph AND position('\x1f'::bytea IN t.name) = 0
    ORDER BY t.name, a.id
$$;

CREATE FUNCTION @.names(_name bytea) RETURNS SETOF @.part
LANGUAGE sql STABLE AS $$
    SELECT 9, NULL::bigint[], ARRAY[n.name, uuid_send(c.id)], NULL::text[]
    FROM @.thread t JOIN @.named n ON n.thread = t.id JOIN @.checkpoint c ON c.seq = n.checkpoint
    WHERE sha256(t.name) = sha256(_name) ORDER BY n.name
$$;

CREATE FUNCTION @.leases() RETURNS SETOF @.part
LANGUAGE sql STABLE AS $$
    SELECT 10, ARRAY[l.fence, l.renewed], ARRAY[l.thread, l.holder], ARRAY[l.ttl::text] FROM @.lease l ORDER BY l.thread
$$;

-- What is known of a commit that does not fit the head: the head, the checkpoint with its id, and the one that continued
-- the same parent first.
CREATE FUNCTION @.lost(_name bytea, _id uuid, _parent uuid, OUT head uuid, OUT same bigint, OUT winner bigint, OUT run uuid)
LANGUAGE plpgsql STABLE SET jit = off AS $$
DECLARE
    _thread bigint;
    _head bigint;
    _parent_seq bigint;
BEGIN
    SELECT t.id, t.head, c.id INTO _thread, _head, head FROM @.thread t JOIN @.checkpoint c ON c.seq = t.head
    WHERE sha256(t.name) = sha256(_name);
    IF _thread IS NULL THEN
        RETURN;
    END IF;
    SELECT CASE WHEN c.thread = _thread THEN c.seq ELSE 0 END INTO same FROM @.checkpoint c WHERE c.id = _id;
    IF same IS NOT NULL THEN
        RETURN;
    END IF;
    IF _parent IS NOT NULL THEN
        SELECT c.seq INTO _parent_seq FROM @.checkpoint c WHERE c.id = _parent;
        IF _parent_seq IS NULL THEN
            RETURN;
        END IF;
    END IF;
    WITH RECURSIVE past(at, parent, thread, run) AS (
        SELECT c.seq, c.parent, c.thread, c.run FROM @.checkpoint c WHERE c.seq = _head
        UNION ALL
        SELECT c.seq, c.parent, c.thread, c.run
        FROM past, LATERAL (SELECT * FROM @.checkpoint c WHERE c.seq = past.parent LIMIT 1) c
        WHERE past.parent > coalesce(_parent_seq, 0)
    )
    SELECT past.at, past.run INTO winner, lost.run FROM past
    WHERE past.parent IS NOT DISTINCT FROM _parent_seq AND past.thread = _thread;
END $$;

-- A hash that changes with everything that a watch of a thread reports; of all threads if there is no name.
CREATE FUNCTION @.mark(_name bytea) RETURNS text
LANGUAGE plpgsql STABLE AS $$
DECLARE
    _thread bigint;
    _head bigint;
    _seen text;
BEGIN
    IF _name IS NULL THEN
        SELECT md5(concat(
            (SELECT string_agg(concat(t.id, ' ', t.head), ',' ORDER BY t.id) FROM @.thread t), ';',
            (SELECT string_agg(a.id::text, ',' ORDER BY a.id) FROM @.ask a WHERE a.answer IS NULL)
        )) INTO _seen;
        RETURN _seen;
    END IF;
    SELECT t.id, t.head INTO _thread, _head FROM @.thread t WHERE sha256(t.name) = sha256(_name);
    SELECT md5(concat(_thread, ' ', _head, ';',
        (SELECT string_agg(concat(p.id, ' ', p.xmin), ',' ORDER BY p.id) FROM @.pending p
            WHERE p.thread = _thread AND p.base = _head), ';',
        (SELECT string_agg(concat(a.id, ' ', a.xmin), ',' ORDER BY a.id) FROM @.ask a
            WHERE a.thread = _thread AND a.base = _head), ';',
        (SELECT string_agg(concat(e.id, ' ', e.xmin), ',' ORDER BY e.id) FROM @.effect e
            WHERE e.thread = _thread AND e.base = _head), ';',
        (SELECT string_agg(concat(encode(n.name, 'hex'), ' ', n.checkpoint), ',' ORDER BY n.name) FROM @.named n
            WHERE n.thread = _thread)
    )) INTO _seen;
    RETURN _seen;
END $$;
