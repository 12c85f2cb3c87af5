-- Gives the sequences that are not logged the values of a life in which nothing is known to be on disk. A server that was promoted
-- before it had written them down once has files of them that it cannot read (PostgreSQL 15), so they are made again then: what
-- they said was lost with the promotion anyway. The caller holds the lock of the writers.
CREATE FUNCTION reset_sequences() RETURNS void LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  PERFORM begin_life();
  PERFORM setval('durable_revision', 0);
EXCEPTION WHEN internal_error THEN
  DROP SEQUENCE durable_revision;
  DROP SEQUENCE server_life;
  CREATE UNLOGGED SEQUENCE durable_revision MINVALUE 0 START 0;
  CREATE UNLOGGED SEQUENCE server_life MINVALUE 0 START 0;
  PERFORM begin_life();
END
$$;
--> statement-breakpoint
-- As before, also where the sequences cannot be read.
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
  PERFORM reset_sequences();
  IF v_revision = 0 THEN
    UPDATE store SET place = v_place;
  ELSE
    PERFORM start_line(v_revision);
  END IF;
END
$$;
--> statement-breakpoint
-- Dates up to about p_limit events now that a clock which was ahead has dated, wherever they are in the history; returns how many.
-- All of a transaction at once: xmin says which commits may belong together. Does nothing while another session forgets history.
CREATE FUNCTION redate_events(p_limit integer) RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_now timestamptz := clock_timestamp();
  v_count bigint;
BEGIN
  IF NOT pg_try_advisory_xact_lock(1398232949, 'store'::regclass::oid::integer) THEN
    RETURN 0;
  END IF;
  UPDATE event SET at = v_now WHERE xmin IN (
    SELECT e.xmin FROM event e WHERE e.at > v_now + interval '1 minute' ORDER BY e.revision LIMIT p_limit
  );
  GET DIAGNOSTICS v_count = ROW_COUNT;
  RETURN v_count;
END
$$;
--> statement-breakpoint
-- As before; events from a clock that was ahead are dated by redate_events alone.
CREATE OR REPLACE FUNCTION compact_history(
  p_events bigint, p_bytes bigint, p_last bigint, p_limit integer, p_age_ms bigint
) RETURNS bigint
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_now timestamptz := clock_timestamp();
  v_boundary bigint;
  v_deleted bigint;
BEGIN
  IF NOT pg_try_advisory_xact_lock(1398232949, 'store'::regclass::oid::integer) THEN
    RETURN 0;
  END IF;
  IF p_age_ms IS NOT NULL AND EXISTS (
    SELECT FROM (SELECT at FROM event ORDER BY revision LIMIT p_limit) o WHERE o.at > v_now + interval '1 minute'
  ) THEN
    PERFORM redate_events(p_limit);
  END IF;
  SELECT max(e.revision) INTO v_boundary
    FROM (
      SELECT o.revision, o.written,
        bool_and(o.at <= v_now - p_age_ms * interval '1 millisecond') OVER (ORDER BY o.revision) AS old
      FROM (SELECT revision, written, at FROM event ORDER BY revision LIMIT p_limit) o
    ) e, store s
    WHERE (e.revision <= s.revision - p_events OR e.written <= s.written - p_bytes OR e.old)
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
