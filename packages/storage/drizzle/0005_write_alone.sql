-- As write_group, for an instance beside which no other one writes: none waits for its lock, so it is held until the one
-- commit is on disk, and there is no second one. What it has written is visible only then.
CREATE PROCEDURE write_alone(
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
BEGIN
  SELECT json_agg(json_build_array(a.step, a.outcome, a.at_revision))::text, bool_or(a.at_revision IS NOT NULL)
    INTO p_outcome, v_wrote
    FROM apply_writes(p_request, p_kind, p_group, p_resource_kind, p_partition, p_peer_name, p_namespace,
      p_name, p_uid, p_expected, p_owner, p_body) a;
  SELECT s.revision INTO v_revision FROM store s;
  COMMIT;
  -- Without a number of this life everything visible is on disk.
  IF (SELECT l.last_value FROM server_life l) = 0
    OR v_revision <= (SELECT d.last_value FROM durable_revision d) THEN
    RETURN;
  END IF;
  IF v_wrote IS NOT TRUE THEN
    -- A commit without changes waits for nothing, and may have seen commits that are not on disk.
    PERFORM pg_logical_emit_message(true, 'stackwright', '');
    COMMIT;
  END IF;
  PERFORM record_durable(v_revision);
END
$$;
