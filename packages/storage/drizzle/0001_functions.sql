INSERT INTO store (id) VALUES (1);
--> statement-breakpoint
ALTER TABLE store SET (fillfactor = 20);
--> statement-breakpoint
ALTER TABLE blob_chunk ALTER COLUMN bytes SET STORAGE EXTERNAL;
--> statement-breakpoint
-- Names the content of the store: another one after a restore, and after another server has become
-- the primary, which may not have all commits of the one before. Fails on a standby.
CREATE FUNCTION content_epoch() RETURNS text LANGUAGE sql VOLATILE AS $$
  SELECT epoch::text || '~' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8) FROM store
$$;
--> statement-breakpoint
-- Applies requests, each a run of steps with the same number in p_request: guards (kind 0), writes
-- (1) and deletes (2). Each request is all or nothing, and sees those before it. Returns a row for
-- each applied step (0), delete without effect (1), and for the first step of a request that is
-- refused: guard (2), uid (3), version (4).
--
-- The advisory lock is held until the transaction is visible to all, so commits become visible in
-- the order of their revisions, and everything in here runs alone. The counter is a row and not a
-- sequence: what is rolled back gives its number back, and there are no holes.
CREATE FUNCTION apply_writes(
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
DECLARE
  v_revision bigint;
  v_written bigint;
  v_count integer := cardinality(p_request);
  v_first integer := 1;
  v_last integer;
  v_refused boolean;
  v_uid text;
  v_version text;
  v_body bytea;
  v_changed boolean := false;
BEGIN
  PERFORM pg_advisory_xact_lock(1398232948, 'store'::regclass::oid::integer);
  SELECT s.revision, s.written INTO STRICT v_revision, v_written FROM store s;
  WHILE v_first <= v_count LOOP
    v_last := v_first;
    WHILE v_last < v_count AND p_request[v_last + 1] = p_request[v_first] LOOP
      v_last := v_last + 1;
    END LOOP;

    v_refused := false;
    FOR i IN v_first .. v_last LOOP
      SELECT r.uid, r.version INTO v_uid, v_version FROM resource r
        WHERE r.grp = p_group[i] AND r.kind = p_resource_kind[i]
          AND r.partition = p_partition[i] AND r.peer_name = p_peer_name[i]
          AND r.namespace = p_namespace[i] AND r.name = p_name[i];
      IF p_kind[i] = 0 THEN
        IF p_expected[i] = '' THEN
          v_refused := FOUND;
        ELSE
          v_refused := NOT FOUND OR v_version <> p_expected[i]
            OR (p_uid[i] <> '' AND v_uid <> p_uid[i]);
        END IF;
        outcome := 2;
      ELSIF NOT FOUND THEN
        v_refused := p_kind[i] = 1 AND p_expected[i] <> '';
        outcome := 4;
      ELSIF v_uid <> p_uid[i] THEN
        v_refused := p_kind[i] = 1;
        outcome := 3;
      ELSE
        v_refused := v_version <> p_expected[i];
        outcome := 4;
      END IF;
      IF v_refused THEN
        step := i;
        at_revision := NULL;
        RETURN NEXT;
        EXIT;
      END IF;
    END LOOP;

    FOR i IN v_first .. v_last LOOP
      EXIT WHEN v_refused;
      CONTINUE WHEN p_kind[i] = 0;
      step := i;
      outcome := 0;
      IF p_kind[i] = 1 THEN
        v_version := (v_revision + 1)::text;
        v_body := p_body[i];
        INSERT INTO resource AS r
            (grp, kind, partition, peer_name, namespace, name, uid, version, owner, body)
          VALUES (p_group[i], p_resource_kind[i], p_partition[i], p_peer_name[i], p_namespace[i],
            p_name[i], p_uid[i], v_version, p_owner[i], v_body)
          ON CONFLICT (grp, kind, partition, peer_name, namespace, name) DO UPDATE
            SET version = excluded.version, owner = excluded.owner, body = excluded.body;
      ELSE
        DELETE FROM resource r
          WHERE r.grp = p_group[i] AND r.kind = p_resource_kind[i]
            AND r.partition = p_partition[i] AND r.peer_name = p_peer_name[i]
            AND r.namespace = p_namespace[i] AND r.name = p_name[i] AND r.uid = p_uid[i]
          RETURNING r.version, r.body INTO v_version, v_body;
        IF NOT FOUND THEN
          outcome := 1;
          at_revision := NULL;
          RETURN NEXT;
          CONTINUE;
        END IF;
      END IF;
      v_changed := true;
      v_revision := v_revision + 1;
      v_written := v_written + octet_length(v_body);
      INSERT INTO event (revision, operation, version, written, body)
        VALUES (v_revision, p_kind[i], v_version, v_written, v_body);
      at_revision := v_revision;
      RETURN NEXT;
    END LOOP;
    v_first := v_last + 1;
  END LOOP;
  IF v_changed THEN
    UPDATE store SET revision = v_revision, written = v_written;
  END IF;
END
$$;
--> statement-breakpoint
-- Replaces everything by what was staged for a restore, of which there have to be p_rows rows.
CREATE FUNCTION commit_restore(p_restore uuid, p_rows bigint) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_revision bigint;
BEGIN
  PERFORM pg_advisory_xact_lock(1398232948, 'store'::regclass::oid::integer);
  IF (SELECT count(*) FROM staged s WHERE s.restore = p_restore) <> p_rows THEN
    RAISE EXCEPTION 'the staged rows are not complete';
  END IF;
  DELETE FROM resource;
  INSERT INTO resource (grp, kind, partition, peer_name, namespace, name, uid, version, owner, body)
    SELECT DISTINCT ON (grp, kind, partition, peer_name, namespace, name)
        grp, kind, partition, peer_name, namespace, name, uid, version, owner, body
      FROM staged s WHERE s.restore = p_restore
      ORDER BY grp, kind, partition, peer_name, namespace, name, position DESC;
  DELETE FROM staged s WHERE s.restore = p_restore;
  DELETE FROM event;
  -- Versions that are given out later are above all restored ones that look like ours.
  SELECT greatest(s.revision, (
      SELECT max(r.version::bigint) FROM resource r WHERE r.version ~ '^[1-9][0-9]{0,14}$'
    )) INTO v_revision FROM store s;
  UPDATE store SET epoch = gen_random_uuid(), revision = v_revision, compacted = v_revision;
END
$$;
--> statement-breakpoint
-- Forgets up to p_limit of the oldest events beyond the newest p_events, or beyond the newest
-- p_bytes, but none after p_last; returns how many. Does nothing while another session does it.
CREATE FUNCTION compact_history(
  p_events bigint, p_bytes bigint, p_last bigint, p_limit integer
) RETURNS bigint
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_boundary bigint;
  v_deleted bigint;
BEGIN
  IF NOT pg_try_advisory_xact_lock(1398232949, 'store'::regclass::oid::integer) THEN
    RETURN 0;
  END IF;
  SELECT max(e.revision) INTO v_boundary
    FROM (SELECT revision, written FROM event ORDER BY revision LIMIT p_limit) e, store s
    WHERE (e.revision <= s.revision - p_events OR e.written <= s.written - p_bytes)
      AND e.revision <= p_last;
  IF v_boundary IS NULL THEN
    RETURN 0;
  END IF;
  DELETE FROM event e WHERE e.revision <= v_boundary;
  GET DIAGNOSTICS v_deleted = ROW_COUNT;
  UPDATE store SET compacted = greatest(compacted, v_boundary);
  RETURN v_deleted;
END
$$;
