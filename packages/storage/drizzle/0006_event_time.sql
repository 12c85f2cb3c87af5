-- Commits from before count as made now. The constant is taken first, as it does not rewrite the table.
ALTER TABLE "event" ADD COLUMN "at" timestamp with time zone DEFAULT now() NOT NULL;
--> statement-breakpoint
ALTER TABLE "event" ALTER COLUMN "at" SET DEFAULT clock_timestamp();
--> statement-breakpoint
-- As compact_history without p_age_ms, and forgets events that are older than so many milliseconds, unless that is null. Only
-- the oldest without a gap go: an event before which a younger one stays does too. Events from a clock that was ahead are dated
-- now, or they would stay until the clock is there again.
CREATE FUNCTION compact_history(
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
  IF p_age_ms IS NOT NULL THEN
    -- Those that may go now: all of them at once would take longer than a statement may.
    UPDATE event SET at = v_now
      WHERE at > v_now + interval '1 minute'
        AND revision <= (SELECT max(o.revision) FROM (SELECT revision FROM event ORDER BY revision LIMIT p_limit) o);
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
