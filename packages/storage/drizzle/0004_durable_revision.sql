-- The newest revision that is known to be on disk, with everything before it. A sequence changes outside of
-- transactions: whoever reads it sees what was recorded last. It is not logged, so a crash sets it back to 0.
CREATE UNLOGGED SEQUENCE durable_revision MINVALUE 0 START 0;
--> statement-breakpoint
-- A random number from the first commit that does not wait for the log until the next crash of the server, which sets it
-- back to 0: what was visible in another life may be gone.
CREATE UNLOGGED SEQUENCE server_life MINVALUE 0 START 0;
--> statement-breakpoint
CREATE FUNCTION begin_life() RETURNS void LANGUAGE sql VOLATILE AS $$
  SELECT setval('server_life', 1 + ('x' || left(md5(gen_random_uuid()::text), 15))::bit(60)::bigint)
$$;
--> statement-breakpoint
-- Records a revision. Of two at once the smaller one may win, which costs a reader a call of settle_commits.
CREATE FUNCTION record_durable(p_revision bigint) RETURNS void LANGUAGE sql VOLATILE AS $$
  SELECT setval('durable_revision', p_revision) FROM durable_revision d WHERE d.last_value < p_revision
$$;
--> statement-breakpoint
-- Applies requests as apply_writes does and returns what it returns as JSON, in one transaction whose commit does not
-- wait for the log: the lock of the writers is free again before the sync, which all of them share. The
-- answer is not sent before everything that the requests have seen or done is on disk. Cannot be part of a transaction.
CREATE PROCEDURE write_group(
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
BEGIN
  PERFORM set_config('synchronous_commit', 'off', true);
  SELECT json_agg(json_build_array(a.step, a.outcome, a.at_revision))::text INTO p_outcome
    FROM apply_writes(p_request, p_kind, p_group, p_resource_kind, p_partition, p_peer_name, p_namespace,
      p_name, p_uid, p_expected, p_owner, p_body) a;
  SELECT s.revision INTO v_revision FROM store s;
  PERFORM begin_life() FROM server_life l WHERE l.last_value = 0;
  COMMIT;
  IF v_revision <= (SELECT d.last_value FROM durable_revision d) THEN
    RETURN;
  END IF;
  -- A commit that waits for the log, as the setting of the session is again: everything before it is on disk then.
  PERFORM pg_logical_emit_message(true, 'stackwright', '');
  COMMIT;
  PERFORM record_durable(v_revision);
END
$$;
--> statement-breakpoint
-- Waits until everything that is visible now is on disk, for readers that have seen more than is known to be. Cannot
-- be part of a transaction.
CREATE PROCEDURE settle_commits(INOUT p_revision bigint, INOUT p_life bigint) LANGUAGE plpgsql AS $$
BEGIN
  SELECT s.revision INTO p_revision FROM store s;
  SELECT l.last_value INTO p_life FROM server_life l;
  PERFORM pg_logical_emit_message(true, 'stackwright', '');
  COMMIT;
  PERFORM record_durable(p_revision);
END
$$;
--> statement-breakpoint
-- As before. A copy has no durable revision: sequences are copied as they are at the moment, so that of the original may
-- be ahead of the copied rows.
CREATE OR REPLACE FUNCTION continue_line() RETURNS void LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_place text := store_place();
  v_known text;
  v_revision bigint;
BEGIN
  SELECT s.place, s.revision INTO v_known, v_revision FROM store s;
  IF v_known = v_place THEN
    RETURN;
  END IF;
  PERFORM begin_life();
  PERFORM setval('durable_revision', 0);
  IF v_revision = 0 THEN
    UPDATE store SET place = v_place;
  ELSE
    PERFORM start_line(v_revision);
  END IF;
END
$$;
