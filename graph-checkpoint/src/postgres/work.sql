-- The functions that write unfinished work; they follow the rules of write.sql.

-- Records a result, unless its task has one, and returns the text of the one that counts if it is another one. A result
-- without targets (`_without`) is completed. If the base is no longer the head, records nothing, and returns an empty text.
CREATE FUNCTION @.record(_fence bigint, _leased bytea, _name bytea, _base uuid, _task bytea, _text text, _recorded text,
    _without text) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
    p record;
    _held record;
BEGIN
    SELECT * INTO p FROM @.place(_fence, _leased, _name, _base);
    IF p.seq IS NULL THEN
        RETURN '';
    END IF;
    INSERT INTO @.pending(thread, base, task, recorded, text) VALUES (p.thread, p.seq, _task, _recorded::numeric, _text)
    ON CONFLICT DO NOTHING;
    IF FOUND THEN
        RETURN NULL;
    END IF;
    SELECT h.id, h.text, h.recorded INTO _held FROM @.pending h
    WHERE h.thread = p.thread AND h.base = p.seq AND h.task = _task FOR UPDATE;
    IF _held.recorded IS NULL OR _held.text = _without THEN
        UPDATE @.pending h SET text = _text, recorded = _recorded::numeric WHERE h.id = _held.id;
        RETURN NULL;
    END IF;
    RETURN _held.text;
END $$;

-- Records several results.
CREATE FUNCTION @.record_all(_fence bigint, _leased bytea, _name bytea, _base uuid, _tasks bytea[], _texts text[],
    _recorded text[], _without text[]) RETURNS SETOF text
LANGUAGE sql AS $$
    SELECT @.record(_fence, _leased, _name, _base, n.task, n.text, n.recorded, n.without)
    FROM unnest(_tasks, _texts, _recorded, _without) AS n(task, text, recorded, without)
$$;

CREATE FUNCTION @.fail(_fence bigint, _leased bytea, _name bytea, _base uuid, _task bytea, _text text) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    p record;
BEGIN
    SELECT * INTO p FROM @.place(_fence, _leased, _name, _base);
    IF p.seq IS NOT NULL THEN
        INSERT INTO @.pending AS h (thread, base, task, text) VALUES (p.thread, p.seq, _task, _text)
        ON CONFLICT (thread, base, task) DO UPDATE SET text = excluded.text WHERE h.recorded IS NULL;
    END IF;
END $$;

-- Stores the questions of paused tasks. They replace the earlier questions of these tasks, except answered ones.
CREATE FUNCTION @.ask(_fence bigint, _leased bytea, _name bytea, _base uuid, _interrupts bytea[], _tasks bytea[],
    _texts text[], _deadlines text[], _fallbacks text[], _answers text[], _by_deadline boolean[]) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    p record;
BEGIN
    SELECT * INTO p FROM @.place(_fence, _leased, _name, _base);
    IF p.seq IS NULL THEN
        RAISE EXCEPTION 'superseded' USING ERRCODE = 'SS004';
    END IF;
    DELETE FROM @.ask a WHERE a.thread = p.thread AND a.base = p.seq AND a.answer IS NULL AND a.task = ANY(_tasks)
        AND NOT a.interrupt = ANY(_interrupts);
    INSERT INTO @.ask(thread, base, interrupt, task, text, deadline, fallback, answer, by_deadline)
        SELECT p.thread, p.seq, a.interrupt, a.task, a.text, a.deadline::numeric, a.fallback, a.answer, a.by_deadline
        FROM unnest(_interrupts, _tasks, _texts, _deadlines, _fallbacks, _answers, _by_deadline) WITH ORDINALITY
            AS a(interrupt, task, text, deadline, fallback, answer, by_deadline, n)
        ORDER BY a.n
    ON CONFLICT DO NOTHING;
END $$;

-- Answers questions of the head, all or none. Returns the id of the head and the work on it. If the request has answered them
-- before, the head may be a later one.
CREATE FUNCTION @.answer(_fence bigint, _leased bytea, _name bytea, _interrupts bytea[], _answers text[], _request uuid)
RETURNS SETOF @.part LANGUAGE plpgsql AS $$
DECLARE
    _thread bigint;
    _head bigint;
    _held record;
BEGIN
    PERFORM @.hold(_fence, _leased);
    SELECT t.id, t.head INTO _thread, _head FROM @.thread t WHERE sha256(t.name) = sha256(_name) FOR SHARE;
    FOR _n IN 1..cardinality(_interrupts) LOOP
        SELECT a.id, a.answer INTO _held FROM @.ask a
        WHERE a.thread = _thread AND a.base = _head AND a.interrupt = _interrupts[_n] FOR UPDATE;
        EXIT WHEN _n = 1 AND (NOT FOUND OR _held.answer IS NOT NULL)
            AND EXISTS (SELECT 1 FROM @.ask a WHERE a.thread = _thread AND a.request = _request);
        IF NOT FOUND THEN
            RAISE EXCEPTION 'no question' USING ERRCODE = 'SS005', DETAIL = encode(_interrupts[_n], 'hex');
        END IF;
        IF _held.answer IS NOT NULL THEN
            RAISE EXCEPTION 'answered' USING ERRCODE = 'SS006', DETAIL = encode(_interrupts[_n], 'hex');
        END IF;
        UPDATE @.ask a SET answer = _answers[_n], request = _request WHERE a.id = _held.id;
    END LOOP;
    IF _thread IS NULL THEN
        RAISE EXCEPTION 'no checkpoint' USING ERRCODE = 'SS001';
    END IF;
    RETURN QUERY SELECT 0, NULL::bigint[], ARRAY[uuid_send(c.id)], NULL::text[] FROM @.checkpoint c WHERE c.seq = _head;
    RETURN QUERY SELECT * FROM @.work_on(_thread, _head, true);
END $$;

-- Gives overdue questions their default answers, and returns them.
CREATE FUNCTION @.expire(_fence bigint, _leased bytea, _graph bytea, _name bytea, _now text)
RETURNS SETOF @.part LANGUAGE plpgsql AS $$
DECLARE
    _threads bigint[];
BEGIN
    PERFORM @.hold(_fence, _leased);
    SELECT array_agg(due.id) INTO _threads FROM (
        SELECT t.id FROM @.thread t
        WHERE t.id IN (SELECT a.thread FROM @.ask a WHERE a.answer IS NULL AND a.deadline <= _now::numeric)
            AND t.graph = _graph AND (_name IS NULL OR t.name = _name) AND position('\x1f'::bytea IN t.name) = 0
        ORDER BY t.id FOR SHARE
    ) due;
    RETURN QUERY
        WITH expired AS (
            UPDATE @.ask a SET answer = a.fallback, by_deadline = true FROM @.thread t
            WHERE t.id = ANY(_threads) AND a.thread = t.id AND a.base = t.head AND a.answer IS NULL
                AND a.deadline <= _now::numeric
            RETURNING t.name, a.*
        )
        SELECT 4, ARRAY[1::bigint], ARRAY[e.name, e.interrupt], ARRAY[e.text, e.fallback, e.answer, e.deadline::text]
        FROM expired e ORDER BY e.name, e.id;
END $$;

-- Begins an effect, or returns the record that this one does not follow. A request may begin it again.
CREATE FUNCTION @.begin_effect(_fence bigint, _leased bytea, _name bytea, _base uuid, _slot bytea, _text text,
    _attempt bigint, _starts bigint, _token bytea, _outcome text, _recorded text, _request uuid,
    OUT is_current boolean, OUT k integer, OUT i bigint[], OUT b bytea[], OUT t text[])
LANGUAGE plpgsql AS $$
DECLARE
    p record;
    _e record;
BEGIN
    SELECT * INTO p FROM @.place(_fence, _leased, _name, _base);
    is_current := p.seq IS NOT NULL;
    IF NOT is_current THEN
        RETURN;
    END IF;
    INSERT INTO @.effect(thread, base, slot, text, attempt, starts, token, outcome, recorded, request)
    VALUES (p.thread, p.seq, _slot, _text, _attempt, _starts, _token, _outcome, _recorded::numeric, _request)
    ON CONFLICT DO NOTHING;
    IF FOUND THEN
        RETURN;
    END IF;
    SELECT * INTO _e FROM @.effect e WHERE e.thread = p.thread AND e.base = p.seq AND e.slot = _slot FOR UPDATE;
    IF _e.request = _request AND _e.outcome IS NOT DISTINCT FROM _outcome THEN
        RETURN;
    END IF;
    -- A writer that replaces a success skips one number.
    IF _e.starts + (CASE WHEN _e.recorded IS NULL THEN 1 ELSE 2 END) <= _starts THEN
        UPDATE @.effect e SET text = _text, attempt = _attempt, starts = _starts, token = _token, outcome = _outcome,
            recorded = _recorded::numeric, request = _request WHERE e.id = _e.id;
        RETURN;
    END IF;
    k := 5;
    i := ARRAY[_e.attempt, _e.starts];
    b := ARRAY[_e.token, _e.slot];
    t := ARRAY[_e.text, _e.outcome];
END $$;

-- Ends an effect, or returns the outcome with which it has already succeeded.
CREATE FUNCTION @.end_effect(_fence bigint, _leased bytea, _name bytea, _base uuid, _slot bytea, _outcome text,
    _recorded text) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
    p record;
    _e record;
BEGIN
    SELECT * INTO p FROM @.place(_fence, _leased, _name, _base);
    IF p.seq IS NULL THEN
        RETURN NULL;
    END IF;
    SELECT e.id, e.outcome, e.recorded INTO _e FROM @.effect e
    WHERE e.thread = p.thread AND e.base = p.seq AND e.slot = _slot FOR UPDATE;
    IF _e.recorded IS NOT NULL THEN
        RETURN _e.outcome;
    END IF;
    UPDATE @.effect e SET outcome = _outcome, recorded = _recorded::numeric WHERE e.id = _e.id;
    RETURN NULL;
END $$;
