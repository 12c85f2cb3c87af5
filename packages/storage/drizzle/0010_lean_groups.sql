-- As before, and what does not change in a session is looked up once in it: the identifier of the server and the
-- database, which a session cannot leave. Reading the first takes a file of the server.
CREATE OR REPLACE FUNCTION store_place() RETURNS text LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_server text := current_setting('stackwright.server', true);
  v_database text := current_setting('stackwright.database', true);
BEGIN
  IF coalesce(v_server, '') = '' OR coalesce(v_database, '') = '' THEN
    SELECT set_config('stackwright.server', c.system_identifier::text, false),
        set_config('stackwright.database', d.oid::text, false)
      INTO STRICT v_server, v_database
      FROM pg_control_system() c, pg_database d WHERE d.datname = current_database();
  END IF;
  RETURN concat_ws('-', v_server, left(pg_walfile_name(pg_current_wal_insert_lsn()), 8), v_database,
    'store'::regclass::oid, pg_relation_filenode('store'::regclass));
END
$$;
--> statement-breakpoint
-- Applies requests, each a run of steps with the same number in p_request: guards (kind 0), writes
-- (1) and deletes (2). Each request is all or nothing, and sees those before it. Gives an array [step, outcome, revision]
-- for each applied step (0), delete without effect (1), and for the first step of a request that is
-- refused: guard (2), uid (3), version (4); and the revision of the store behind them.
--
-- The advisory lock is held until the transaction is visible to all, so commits become visible in
-- the order of their revisions, and everything in here runs alone. The counter is a row and not a
-- sequence: what is rolled back gives its number back, and there are no holes.
--
-- All writers wait for one another here, so there are few statements: an expression without a table is not one.
CREATE OR REPLACE FUNCTION apply_group(
  p_request integer[],
  p_kind smallint[],
  p_group text[],
  p_resource_kind text[],
  p_partition text[],
  p_peer_name text[],
  p_namespace text[],
  p_name text[],
  p_uid text[],
  p_expected text[],
  p_owner bytea[],
  p_body bytea[],
  OUT p_outcome text,
  OUT p_revision bigint,
  OUT p_changed boolean
) LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_written bigint;
  v_place text;
  v_count integer := cardinality(p_request);
  v_first integer := 1;
  v_last integer;
  v_found boolean[];
  v_refused integer;
  v_uid text;
  v_version text;
  v_body bytea;
BEGIN
  IF pg_advisory_xact_lock(1398232948, 'store'::regclass::oid::integer) IS NULL THEN
    RAISE EXCEPTION 'the lock has no answer';
  END IF;
  SELECT s.revision, s.written, s.place INTO STRICT p_revision, v_written, v_place FROM store s;
  IF v_place IS DISTINCT FROM store_place() THEN
    PERFORM continue_line();
    SELECT s.revision, s.written INTO STRICT p_revision, v_written FROM store s;
  END IF;
  p_outcome := '';
  p_changed := false;
  WHILE v_first <= v_count LOOP
    v_last := v_first;
    WHILE v_last < v_count AND p_request[v_last + 1] = p_request[v_first] LOOP
      v_last := v_last + 1;
    END LOOP;

    v_refused := 0;
    FOR i IN v_first .. v_last LOOP
      SELECT r.uid, r.version INTO v_uid, v_version FROM resource r
        WHERE r.grp = p_group[i] AND r.kind = p_resource_kind[i]
          AND r.partition = p_partition[i] AND r.peer_name = p_peer_name[i]
          AND r.namespace = p_namespace[i] AND r.name = p_name[i];
      v_found[i] := FOUND;
      IF p_kind[i] = 0 THEN
        IF p_expected[i] = '' THEN
          IF v_found[i] THEN
            v_refused := 2;
          END IF;
        ELSIF NOT v_found[i] OR v_version <> p_expected[i] OR (p_uid[i] <> '' AND v_uid <> p_uid[i]) THEN
          v_refused := 2;
        END IF;
      ELSIF NOT v_found[i] THEN
        IF p_kind[i] = 1 AND p_expected[i] <> '' THEN
          v_refused := 4;
        END IF;
      ELSIF v_uid <> p_uid[i] THEN
        IF p_kind[i] = 1 THEN
          v_refused := 3;
        END IF;
      ELSIF v_version <> p_expected[i] THEN
        v_refused := 4;
      END IF;
      IF v_refused > 0 THEN
        p_outcome := p_outcome || ',[' || i || ',' || v_refused || ',null]';
        EXIT;
      END IF;
    END LOOP;

    FOR i IN v_first .. v_last LOOP
      EXIT WHEN v_refused > 0;
      CONTINUE WHEN p_kind[i] = 0;
      IF p_kind[i] = 1 THEN
        v_version := (p_revision + 1)::text;
        v_body := p_body[i];
        IF v_found[i] THEN
          UPDATE resource r SET version = v_version, owner = p_owner[i], body = v_body
            WHERE r.grp = p_group[i] AND r.kind = p_resource_kind[i]
              AND r.partition = p_partition[i] AND r.peer_name = p_peer_name[i]
              AND r.namespace = p_namespace[i] AND r.name = p_name[i];
        END IF;
        -- What is new, and what a step before this one has removed.
        IF NOT v_found[i] OR NOT FOUND THEN
          INSERT INTO resource AS r
              (grp, kind, partition, peer_name, namespace, name, uid, version, owner, body)
            VALUES (p_group[i], p_resource_kind[i], p_partition[i], p_peer_name[i], p_namespace[i],
              p_name[i], p_uid[i], v_version, p_owner[i], v_body)
            ON CONFLICT (grp, kind, partition, peer_name, namespace, name) DO UPDATE
              SET version = excluded.version, owner = excluded.owner, body = excluded.body;
        END IF;
      ELSE
        DELETE FROM resource r
          WHERE r.grp = p_group[i] AND r.kind = p_resource_kind[i]
            AND r.partition = p_partition[i] AND r.peer_name = p_peer_name[i]
            AND r.namespace = p_namespace[i] AND r.name = p_name[i] AND r.uid = p_uid[i]
          RETURNING r.version, r.body INTO v_version, v_body;
        IF NOT FOUND THEN
          p_outcome := p_outcome || ',[' || i || ',1,null]';
          CONTINUE;
        END IF;
      END IF;
      p_changed := true;
      p_revision := p_revision + 1;
      v_written := v_written + octet_length(v_body);
      INSERT INTO event (revision, operation, version, written, body)
        VALUES (p_revision, p_kind[i], v_version, v_written, v_body);
      p_outcome := p_outcome || ',[' || i || ',0,' || p_revision || ']';
    END LOOP;
    v_first := v_last + 1;
  END LOOP;
  p_outcome := '[' || substr(p_outcome, 2) || ']';
  IF p_changed THEN
    UPDATE store SET revision = p_revision, written = v_written;
  END IF;
END
$$;
--> statement-breakpoint
-- As before, on top of apply_group, for a release before that writes on beside this one. What such a call has begun ends in
-- apply_steps, which therefore stays until a later migration.
CREATE OR REPLACE FUNCTION apply_writes(
  p_request integer[],
  p_kind smallint[],
  p_group text[],
  p_resource_kind text[],
  p_partition text[],
  p_peer_name text[],
  p_namespace text[],
  p_name text[],
  p_uid text[],
  p_expected text[],
  p_owner bytea[],
  p_body bytea[]
) RETURNS TABLE (step integer, outcome smallint, at_revision bigint) LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  RETURN QUERY SELECT (a.value->>0)::integer, (a.value->>1)::smallint, (a.value->>2)::bigint
    FROM apply_group(p_request, p_kind, p_group, p_resource_kind, p_partition, p_peer_name, p_namespace,
      p_name, p_uid, p_expected, p_owner, p_body) g,
      json_array_elements(g.p_outcome::json) a;
END
$$;
--> statement-breakpoint
-- As before. In front of the outcomes is one for the step 0: whether an instance listens for commits (1) or none does (0). One that
-- listens holds the lock that is tried here, and reads what was committed before once it has it.
CREATE OR REPLACE PROCEDURE write_group(
  p_request integer[],
  p_kind smallint[],
  p_group text[],
  p_resource_kind text[],
  p_partition text[],
  p_peer_name text[],
  p_namespace text[],
  p_name text[],
  p_uid text[],
  p_expected text[],
  p_owner bytea[],
  p_body bytea[],
  INOUT p_outcome text
) LANGUAGE plpgsql AS $$
DECLARE
  v_revision bigint;
  v_heard integer := 1;
  v_message pg_lsn;
BEGIN
  p_outcome := set_config('synchronous_commit', 'off', true);
  SELECT substr(g.p_outcome, 2), g.p_revision INTO p_outcome, v_revision
    FROM apply_group(p_request, p_kind, p_group, p_resource_kind, p_partition, p_peer_name, p_namespace,
      p_name, p_uid, p_expected, p_owner, p_body) g;
  PERFORM begin_life() FROM server_life l WHERE l.last_value = 0;
  IF pg_try_advisory_xact_lock(1398232951, 'store'::regclass::oid::integer) THEN
    v_heard := 0;
  END IF;
  p_outcome := '[[0,' || v_heard || ',null]' || CASE p_outcome WHEN ']' THEN '' ELSE ',' END || p_outcome;
  COMMIT;
  IF v_revision <= (SELECT d.last_value FROM durable_revision d) THEN
    RETURN;
  END IF;
  -- A commit that waits for the log, as the setting of the session is again: everything before it is on disk then.
  v_message := pg_logical_emit_message(true, 'stackwright', '');
  COMMIT;
  PERFORM setval('durable_revision', v_revision) FROM durable_revision d WHERE d.last_value < v_revision;
END
$$;
--> statement-breakpoint
-- As before, with the outcome of the step 0 as write_group gives it.
CREATE OR REPLACE PROCEDURE write_alone(
  p_request integer[],
  p_kind smallint[],
  p_group text[],
  p_resource_kind text[],
  p_partition text[],
  p_peer_name text[],
  p_namespace text[],
  p_name text[],
  p_uid text[],
  p_expected text[],
  p_owner bytea[],
  p_body bytea[],
  INOUT p_outcome text
) LANGUAGE plpgsql AS $$
DECLARE
  v_revision bigint;
  v_wrote boolean;
  v_heard integer := 1;
  v_message pg_lsn;
BEGIN
  SELECT substr(g.p_outcome, 2), g.p_revision, g.p_changed INTO p_outcome, v_revision, v_wrote
    FROM apply_group(p_request, p_kind, p_group, p_resource_kind, p_partition, p_peer_name, p_namespace,
      p_name, p_uid, p_expected, p_owner, p_body) g;
  IF pg_try_advisory_xact_lock(1398232951, 'store'::regclass::oid::integer) THEN
    v_heard := 0;
  END IF;
  p_outcome := '[[0,' || v_heard || ',null]' || CASE p_outcome WHEN ']' THEN '' ELSE ',' END || p_outcome;
  COMMIT;
  -- Without a number of this life everything visible is on disk.
  IF (SELECT l.last_value FROM server_life l) = 0
    OR v_revision <= (SELECT d.last_value FROM durable_revision d) THEN
    RETURN;
  END IF;
  IF NOT v_wrote THEN
    -- A commit without changes waits for nothing, and may have seen commits that are not on disk.
    v_message := pg_logical_emit_message(true, 'stackwright', '');
    COMMIT;
  END IF;
  PERFORM setval('durable_revision', v_revision) FROM durable_revision d WHERE d.last_value < v_revision;
END
$$;
