-- The functions that write. Each call is one transaction. Locks are taken in this order: the lease of the caller; the row of
-- the thread, shared to add work to its head, exclusively to move the head; then rows of work. A deletion locks the whole
-- table `thread` instead. The codes of errors are those of `refused_by` in error.rs. A function must see what was committed
-- before it had its locks, so the isolation level is READ COMMITTED.

-- Keeps a lease until the end of the transaction, or fails if it was lost.
CREATE FUNCTION @.hold(_fence bigint, _leased bytea) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    _holder bytea;
BEGIN
    IF _fence IS NULL THEN
        RETURN;
    END IF;
    PERFORM 1 FROM @.lease l WHERE l.fence = _fence AND l.thread = _leased FOR KEY SHARE;
    IF NOT FOUND THEN
        SELECT l.holder INTO _holder FROM @.lease l WHERE sha256(l.thread) = sha256(_leased);
        RAISE EXCEPTION 'the lease was lost' USING ERRCODE = 'SS009', DETAIL = coalesce(encode(_holder, 'hex'), '-');
    END IF;
END $$;

-- Returns the row of a thread and the position of its head, if that is still `_base`; no position if it is not.
CREATE FUNCTION @.place(_fence bigint, _leased bytea, _name bytea, _base uuid, OUT thread bigint, OUT seq bigint)
LANGUAGE plpgsql AS $$
DECLARE
    _head bigint;
BEGIN
    PERFORM @.hold(_fence, _leased);
    SELECT t.id, t.head INTO thread, _head FROM @.thread t WHERE sha256(t.name) = sha256(_name) FOR SHARE;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    SELECT c.seq INTO seq FROM @.checkpoint c WHERE c.id = _base;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'no checkpoint' USING ERRCODE = 'SS001';
    END IF;
    IF seq <> _head THEN
        seq := NULL;
    END IF;
END $$;

CREATE FUNCTION @.register(_state bytea, _state_text text, _graph_print bytea, _graph bytea, _graph_text text)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM @.described_state s WHERE s.fingerprint = _state) THEN
        INSERT INTO @.described_state(fingerprint, text) VALUES (_state, _state_text) ON CONFLICT DO NOTHING;
    END IF;
    IF NOT EXISTS (SELECT 1 FROM @.described_graph g WHERE g.fingerprint = _graph_print) THEN
        INSERT INTO @.described_graph(fingerprint, graph, text) VALUES (_graph_print, _graph, _graph_text)
        ON CONFLICT DO NOTHING;
    END IF;
END $$;

CREATE FUNCTION @.refuse_pruned(_seq bigint) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    _id uuid;
BEGIN
    SELECT c.id INTO _id FROM @.checkpoint c WHERE c.seq = _seq AND c.source = 4;
    IF FOUND THEN
        RAISE EXCEPTION 'pruned' USING ERRCODE = 'SS008', DETAIL = encode(uuid_send(_id), 'hex');
    END IF;
END $$;

-- Stores one checkpoint, or an input with its start. The outcome is 0 if they were stored, 1 if they do not fit the head,
-- 2 if more is recorded on the head, and 3 if the fields of the parent have other numbers: the caller then passes, for each
-- field of the parent, its number now (`_carry`, valid for the parent's state `_carry_from`). `_unstored` are tasks whose
-- results need not be stored before the commit.
CREATE FUNCTION @.commit(_fence bigint, _leased bytea, _name bytea, _graph bytea, _above bytea, _expected uuid,
    _recorded text, _parent uuid, _ids uuid[], _runs uuid[], _steps bigint[], _sources smallint[], _states bytea[],
    _graphs bytea[], _leads_on boolean[], _manifests text[], _changed integer[], _fields integer[], _whole boolean[],
    _texts text[], _carry_from bytea, _carry integer[], _carry_next integer[], _emitted bigint[], _emitted_texts text[],
    _unstored bytea[], _unstored_numbers text[], OUT outcome integer, OUT parent_state bytea)
LANGUAGE plpgsql AS $$
DECLARE
    _thread bigint;
    _held_graph bytea;
    _head bigint;
    _head_id uuid;
    _parent_row @.checkpoint%ROWTYPE;
    _count integer := cardinality(_ids);
    _seqs bigint[] := '{}';
    _state_ids integer[] := '{}';
    _graph_ids integer[] := '{}';
    _row integer;
    _versions bigint[] := '{}';
    _version_fields integer[];
    _root bigint;
    _map integer[];
    _older bigint[];
    _older_fields integer[];
    _f integer;
BEGIN
    PERFORM @.hold(_fence, _leased);
    LOOP
        SELECT t.id, t.graph, t.head INTO _thread, _held_graph, _head FROM @.thread t
        WHERE sha256(t.name) = sha256(_name) FOR NO KEY UPDATE;
        IF FOUND AND _held_graph <> _graph THEN
            RAISE EXCEPTION 'another graph' USING ERRCODE = 'SS003', DETAIL = encode(_held_graph, 'hex');
        END IF;
        _head_id := NULL;
        SELECT c.id INTO _head_id FROM @.checkpoint c WHERE c.seq = _head;
        IF _head_id IS DISTINCT FROM _expected THEN
            outcome := 1;
            RETURN;
        END IF;
        IF _thread IS NULL AND _above IS NOT NULL THEN
            PERFORM 1 FROM @.thread t WHERE sha256(t.name) = sha256(_above) FOR SHARE;
            IF NOT FOUND THEN
                outcome := 1;
                RETURN;
            END IF;
        END IF;
        -- Each id alone: with the array, a plan that was made for a small table reads all of a large one.
        IF EXISTS (SELECT 1 FROM @.checkpoint c WHERE c.id = _ids[1])
            OR _count > 1 AND EXISTS (SELECT 1 FROM @.checkpoint c WHERE c.id = _ids[2]) THEN
            outcome := 1;
            RETURN;
        END IF;
        IF _recorded IS NOT NULL AND _thread IS NOT NULL AND _recorded::numeric <> (
            SELECT coalesce(sum(r.recorded), 0) % 340282366920938463463374607431768211456 FROM (
                SELECT p.recorded FROM @.pending p WHERE p.thread = _thread AND p.base = _head
                UNION ALL
                SELECT e.recorded FROM @.effect e WHERE e.thread = _thread AND e.base = _head
                UNION ALL
                SELECT u.number::numeric FROM unnest(_unstored, _unstored_numbers) AS u(task, number)
                WHERE NOT EXISTS (
                    SELECT 1 FROM @.pending p
                    WHERE p.thread = _thread AND p.base = _head AND p.task = u.task AND p.recorded IS NOT NULL
                )
            ) r
        ) THEN
            outcome := 2;
            RETURN;
        END IF;
        IF _parent IS NOT NULL THEN
            SELECT c.* INTO _parent_row FROM @.checkpoint c WHERE c.id = _parent;
            IF NOT FOUND THEN
                RAISE EXCEPTION 'no parent' USING ERRCODE = 'SS001';
            END IF;
            IF _parent_row.source = 4 THEN
                PERFORM @.refuse_pruned(_parent_row.seq);
            END IF;
            _versions := _parent_row.versions;
            _version_fields := _parent_row.version_fields;
            _root := _parent_row.root;
        END IF;
        FOR _i IN 1.._count LOOP
            SELECT s.id INTO _row FROM @.described_state s WHERE s.fingerprint = _states[_i];
            IF NOT FOUND THEN
                RAISE EXCEPTION 'not registered' USING ERRCODE = 'SS002', DETAIL = encode(_states[_i], 'hex');
            END IF;
            _state_ids[_i] := _row;
            SELECT g.id INTO _row FROM @.described_graph g WHERE g.fingerprint = _graphs[_i];
            IF NOT FOUND THEN
                RAISE EXCEPTION 'not registered' USING ERRCODE = 'SS002', DETAIL = encode(_graphs[_i], 'hex');
            END IF;
            _graph_ids[_i] := _row;
        END LOOP;
        IF _parent IS NOT NULL AND _parent_row.state <> _state_ids[1] THEN
            SELECT s.fingerprint INTO parent_state FROM @.described_state s WHERE s.id = _parent_row.state;
            IF parent_state IS DISTINCT FROM _carry_from THEN
                outcome := 3;
                RETURN;
            END IF;
        END IF;
        FOR _i IN 1.._count LOOP
            _seqs[_i] := nextval('@.position');
        END LOOP;
        IF _thread IS NOT NULL THEN
            UPDATE @.thread t SET head = _seqs[_count] WHERE t.id = _thread;
            EXIT;
        END IF;
        INSERT INTO @.thread(name, graph, head) VALUES (_name, _graph, _seqs[_count]) ON CONFLICT DO NOTHING
        RETURNING id INTO _thread;
        -- Otherwise another transaction has created it.
        EXIT WHEN _thread IS NOT NULL;
    END LOOP;
    IF _head IS NOT NULL THEN
        -- An input discards the superstep, and so does a branch from another checkpoint.
        IF _parent = _expected AND _sources[1] <> 0 THEN
            DELETE FROM @.pending p WHERE p.thread = _thread AND p.base = _head;
        END IF;
        DELETE FROM @.ask a WHERE a.thread = _thread AND a.base = _head AND a.answer IS NULL;
        DELETE FROM @.effect e WHERE e.thread = _thread AND e.base = _head AND e.outcome IS NULL;
    END IF;
    FOR _i IN 1.._count LOOP
        _map := CASE WHEN _i = 2 THEN _carry_next WHEN parent_state IS NOT NULL THEN _carry END;
        IF _map IS NOT NULL THEN
            _older := _versions;
            _older_fields := _version_fields;
            _versions := '{}';
            _version_fields := '{}';
            FOR _n IN 1..cardinality(_older) LOOP
                IF _older[_n] IS NOT NULL AND _map[_n] IS NOT NULL THEN
                    _versions[_map[_n] + 1] := _older[_n];
                    _version_fields[_map[_n] + 1] := coalesce(_older_fields[_n], _n - 1);
                END IF;
            END LOOP;
            -- An array begins with the first element that is set.
            _versions[1] := _versions[1];
            _version_fields[1] := _version_fields[1];
        END IF;
        FOR _n IN 1..cardinality(_fields) LOOP
            CONTINUE WHEN _changed[_n] <> _i;
            _f := _fields[_n] + 1;
            INSERT INTO @.change(checkpoint, id, field, place, prev, prev_field, text) VALUES (_seqs[_i], _ids[_i], _fields[_n], _n,
                CASE WHEN NOT _whole[_n] THEN _versions[_f] END,
                CASE WHEN NOT _whole[_n] AND _versions[_f] IS NOT NULL THEN coalesce(_version_fields[_f], _f - 1) END,
                _texts[_n]);
            _versions[_f] := _seqs[_i];
            IF _version_fields IS NOT NULL THEN
                _version_fields[_f] := _f - 1;
            END IF;
        END LOOP;
        IF cardinality(_versions) > 0 AND array_lower(_versions, 1) > 1 THEN
            _versions[1] := NULL;
        END IF;
        INSERT INTO @.checkpoint(seq, id, parent, root, thread, run, step, source, state, graph, leads_on, versions,
            version_fields, manifest)
        VALUES (_seqs[_i], _ids[_i], CASE WHEN _i = 2 THEN _seqs[1] ELSE _parent_row.seq END, coalesce(_root, _seqs[1]),
            _thread, _runs[_i], _steps[_i], _sources[_i], _state_ids[_i], _graph_ids[_i], _leads_on[_i], _versions,
            _version_fields, _manifests[_i]);
    END LOOP;
    INSERT INTO @.emitted(checkpoint, task, text)
        SELECT _seqs[_count], e.task, e.text FROM unnest(_emitted, _emitted_texts) AS e(task, text);
    parent_state := NULL;
    outcome := 0;
END $$;

-- Gives, renames or removes (0, 1, 2) a name of a thread for a checkpoint. Returns the checkpoint that has the name
-- already.
CREATE FUNCTION @.name(_fence bigint, _leased bytea, _name bytea, _kind integer, _label bytea, _to bytea, _id uuid,
    _request uuid) RETURNS uuid LANGUAGE plpgsql AS $$
DECLARE
    _thread bigint;
    _seq bigint;
    _held bigint;
    _taken uuid;
BEGIN
    PERFORM @.hold(_fence, _leased);
    SELECT t.id INTO _thread FROM @.thread t WHERE sha256(t.name) = sha256(_name) FOR NO KEY UPDATE;
    IF _kind = 0 THEN
        SELECT p.seq INTO _seq FROM @.place_at(_name, 1, _id, NULL, NULL, NULL) p;
        PERFORM @.refuse_pruned(_seq);
    ELSE
        SELECT n.checkpoint INTO _seq FROM @.named n WHERE n.thread = _thread AND n.name = _label;
    END IF;
    IF _seq IS NULL THEN
        IF EXISTS (
            SELECT 1 FROM @.named n WHERE n.thread = _thread AND n.name = _to AND n.request = _request
        ) THEN
            RETURN NULL;
        END IF;
        RAISE EXCEPTION 'no checkpoint' USING ERRCODE = 'SS001';
    END IF;
    IF _kind < 2 THEN
        SELECT n.checkpoint INTO _held FROM @.named n WHERE n.thread = _thread AND n.name = _to;
        IF _held IS NOT NULL AND _held <> _seq THEN
            SELECT c.id INTO _taken FROM @.checkpoint c WHERE c.seq = _held;
            RETURN _taken;
        END IF;
        INSERT INTO @.named(thread, name, checkpoint, request) VALUES (_thread, _to, _seq, _request) ON CONFLICT DO NOTHING;
    END IF;
    IF _kind > 0 AND _label IS DISTINCT FROM _to THEN
        DELETE FROM @.named n WHERE n.thread = _thread AND n.name = _label;
    END IF;
    RETURN NULL;
END $$;

CREATE FUNCTION @.fork(_fence bigint, _leased bytea, _from bytea, _id uuid, _to bytea, _above bytea, _request uuid)
RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    p record;
BEGIN
    PERFORM @.hold(_fence, _leased);
    IF EXISTS (SELECT 1 FROM @.thread t WHERE sha256(t.name) = sha256(_to) AND t.request = _request) THEN
        RETURN;
    END IF;
    PERFORM 1 FROM @.thread t WHERE sha256(t.name) = sha256(_from) FOR SHARE;
    SELECT * INTO p FROM @.place_at(_from, 1, _id, NULL, NULL, NULL);
    IF p.thread IS NULL THEN
        RAISE EXCEPTION 'no checkpoint' USING ERRCODE = 'SS001';
    END IF;
    PERFORM @.refuse_pruned(p.seq);
    IF EXISTS (SELECT 1 FROM @.thread t WHERE sha256(t.name) = sha256(_to)) THEN
        RAISE EXCEPTION 'the thread exists' USING ERRCODE = 'SS007';
    END IF;
    IF _above IS NOT NULL THEN
        PERFORM 1 FROM @.thread t WHERE sha256(t.name) = sha256(_above) FOR SHARE;
        IF NOT FOUND THEN
            RAISE EXCEPTION 'superseded' USING ERRCODE = 'SS004';
        END IF;
    END IF;
    INSERT INTO @.thread(name, graph, head, request) VALUES (_to, p.graph, p.seq, _request) ON CONFLICT DO NOTHING;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'the thread exists' USING ERRCODE = 'SS007';
    END IF;
END $$;

CREATE FUNCTION @.now_ms() RETURNS bigint
LANGUAGE sql VOLATILE AS $$
    SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint
$$;

CREATE FUNCTION @.acquire(_thread bytea, _holder bytea, _ttl text, _request uuid, OUT is_held boolean, OUT k integer, OUT i bigint[],
    OUT b bytea[], OUT t text[])
LANGUAGE plpgsql AS $$
DECLARE
    l record;
    _now bigint;
BEGIN
    LOOP
        SELECT * INTO l FROM @.lease h WHERE sha256(h.thread) = sha256(_thread) FOR UPDATE;
        _now := @.now_ms();
        IF FOUND THEN
            is_held := coalesce(l.request = _request, false);
            IF _now < l.renewed THEN
                -- The clock was set back: the lease counts from now.
                UPDATE @.lease h SET renewed = _now WHERE h.fence = l.fence;
                l.renewed := _now;
                EXIT;
            END IF;
            EXIT WHEN _now < l.renewed + l.ttl;
            DELETE FROM @.lease h WHERE h.fence = l.fence;
        END IF;
        INSERT INTO @.lease(thread, holder, ttl, renewed, request)
        VALUES (_thread, _holder, _ttl::numeric, _now, _request)
        ON CONFLICT DO NOTHING RETURNING * INTO l;
        is_held := FOUND;
        EXIT WHEN is_held;
    END LOOP;
    k := 10;
    i := ARRAY[l.fence, l.renewed];
    b := ARRAY[l.thread, l.holder];
    t := ARRAY[l.ttl::text];
END $$;

CREATE FUNCTION @.renew(_fence bigint, _thread bytea) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    _now bigint := @.now_ms();
BEGIN
    PERFORM @.hold(_fence, _thread);
    UPDATE @.lease l SET renewed = _now WHERE l.fence = _fence;
    RETURN _now;
END $$;

-- Renews leases; returns no row for a lost one.
CREATE FUNCTION @.renew_all(_fences bigint[], _threads bytea[]) RETURNS TABLE (place bigint, renewed bigint)
LANGUAGE sql AS $$
    WITH held AS (
        SELECT l.fence, r.place FROM unnest(_fences, _threads) WITH ORDINALITY AS r(fence, thread, place)
        JOIN @.lease l ON l.fence = r.fence AND l.thread = r.thread ORDER BY l.fence FOR NO KEY UPDATE OF l
    )
    UPDATE @.lease l SET renewed = @.now_ms() FROM held h WHERE l.fence = h.fence RETURNING h.place, l.renewed
$$;

-- Releases a lease, or breaks that of a thread if there is no fence.
CREATE FUNCTION @.release(_fence bigint, _thread bytea) RETURNS SETOF @.part
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM @.hold(_fence, _thread);
    RETURN QUERY DELETE FROM @.lease l WHERE sha256(l.thread) = sha256(_thread)
        RETURNING 10, ARRAY[l.fence, l.renewed], ARRAY[l.thread, l.holder], ARRAY[l.ttl::text];
END $$;
