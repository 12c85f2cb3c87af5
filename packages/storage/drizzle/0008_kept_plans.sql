-- As before, in a language whose functions keep their plans in a session. One in SQL that reads tables is parsed and planned in each
-- transaction, which took longer than what it does, and for writers with their lock held.
CREATE OR REPLACE FUNCTION store_place() RETURNS text LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  RETURN (
    SELECT concat_ws('-', c.system_identifier,
        left(pg_walfile_name(pg_current_wal_insert_lsn()), 8), d.oid, 'store'::regclass::oid,
        pg_relation_filenode('store'::regclass))
      FROM pg_control_system() c, pg_database d WHERE d.datname = current_database()
  );
END
$$;
--> statement-breakpoint
CREATE OR REPLACE FUNCTION content_epoch() RETURNS text LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  RETURN (SELECT epoch::text || '~' || left(md5(store_place()), 16) FROM store);
END
$$;
--> statement-breakpoint
CREATE OR REPLACE FUNCTION record_durable(p_revision bigint) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  PERFORM setval('durable_revision', p_revision) FROM durable_revision d WHERE d.last_value < p_revision;
END
$$;
