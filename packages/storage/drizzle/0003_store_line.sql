ALTER TABLE "store" ADD COLUMN "place" text;
--> statement-breakpoint
-- Where the store's tables are: cluster, timeline, database, and table with its file. It differs after
-- pg_dump and pg_restore to anywhere, a recovery to a point in time, and a promotion. Fails on a standby.
CREATE FUNCTION store_place() RETURNS text LANGUAGE sql VOLATILE AS $$
  SELECT concat_ws('-', c.system_identifier,
      left(pg_walfile_name(pg_current_wal_insert_lsn()), 8), d.oid, 'store'::regclass::oid,
      pg_relation_filenode('store'::regclass))
    FROM pg_control_system() c, pg_database d WHERE d.datname = current_database()
$$;
--> statement-breakpoint
-- Names the content of the store: another one after a restore, in a copy, and after another server has
-- become the primary, which may not have all commits of the one before. Fails on a standby.
CREATE OR REPLACE FUNCTION content_epoch() RETURNS text LANGUAGE sql VOLATILE AS $$
  SELECT epoch::text || '~' || left(md5(store_place()), 16) FROM store
$$;
--> statement-breakpoint
-- Gives the content another epoch and no history. Revisions continue above all that another store with
-- this content can have issued: at the time in milliseconds times 100, which keeps 15 digits until the year
-- 2286, and a thousand million above the given one. The caller holds the lock of the writers.
CREATE FUNCTION start_line(p_revision bigint) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_revision bigint := greatest(p_revision + 1000000000,
    (extract(epoch FROM clock_timestamp()) * 1000)::bigint * 100);
BEGIN
  DELETE FROM event;
  UPDATE store SET place = store_place(), epoch = gen_random_uuid(), revision = v_revision,
    compacted = v_revision;
END
$$;
--> statement-breakpoint
-- Starts a new line when the tables are not where they were. The first call of a store without commits only
-- records the place.
CREATE FUNCTION continue_line() RETURNS void LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_place text := store_place();
  v_known text;
  v_revision bigint;
BEGIN
  SELECT s.place, s.revision INTO v_known, v_revision FROM store s;
  IF v_known = v_place THEN
    RETURN;
  END IF;
  IF v_revision = 0 THEN
    UPDATE store SET place = v_place;
  ELSE
    PERFORM start_line(v_revision);
  END IF;
END
$$;
--> statement-breakpoint
ALTER FUNCTION apply_writes(
  integer[], smallint[], text[], text[], text[], text[], text[], text[], text[], text[], bytea[], bytea[]
) RENAME TO apply_steps;
--> statement-breakpoint
-- As apply_steps, in a store that is where it was.
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
BEGIN
  PERFORM pg_advisory_xact_lock(1398232948, 'store'::regclass::oid::integer);
  PERFORM continue_line();
  RETURN QUERY SELECT a.step, a.outcome, a.at_revision FROM apply_steps(
    p_request, p_kind, p_group, p_resource_kind, p_partition, p_peer_name, p_namespace, p_name, p_uid,
    p_expected, p_owner, p_body) a;
END
$$;
--> statement-breakpoint
-- As before, and versions that are given out later are also above all that the store issued of which the
-- rows are a copy.
CREATE OR REPLACE FUNCTION commit_restore(p_restore uuid, p_rows bigint) RETURNS void
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
  SELECT greatest(s.revision, (
      SELECT max(r.version::bigint) FROM resource r WHERE r.version ~ '^[1-9][0-9]{0,14}$'
    )) INTO v_revision FROM store s;
  PERFORM start_line(v_revision);
END
$$;
