CREATE TABLE "blob_claim" (
	"sha256" "bytea" NOT NULL,
	"owner" text COLLATE "C" NOT NULL,
	"size" bigint NOT NULL,
	CONSTRAINT "blob_claim_sha256_owner_pk" PRIMARY KEY("sha256","owner")
);
--> statement-breakpoint
CREATE TABLE "blob_owner" (
	"owner" text COLLATE "C" PRIMARY KEY NOT NULL,
	"bytes" bigint DEFAULT 0 NOT NULL
);
--> statement-breakpoint
ALTER TABLE "blob_claim" ADD CONSTRAINT "blob_claim_sha256_blob_sha256_fk" FOREIGN KEY ("sha256") REFERENCES "blob"("sha256") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
-- Subtracts what no longer counts, also where a release without owners removes a blob.
CREATE FUNCTION release_blob_claim() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE blob_owner SET bytes = bytes - OLD.size WHERE owner = OLD.owner;
  RETURN NULL;
END
$$;
--> statement-breakpoint
CREATE TRIGGER blob_claim_released AFTER DELETE ON blob_claim
  FOR EACH ROW EXECUTE FUNCTION release_blob_claim();
--> statement-breakpoint
-- Makes an upload a blob that is held and, unless p_owner is null, counts against an owner. Returns no row
-- when the upload is gone; else where the stored content is, which is null, with what the owner uses, when
-- the blob does not fit into p_quota: then nothing has changed but the end of the upload.
--
-- Rows are locked in the order blob, owner, as a removal does. The row of the owner makes writers of
-- different blobs wait for each other, so two that fit one by one do not exceed the quota together.
CREATE FUNCTION finish_blob(
  p_content uuid,
  p_sha256 bytea,
  p_size bigint,
  p_chunk_bytes integer,
  p_hold_ms double precision,
  p_owner text,
  p_quota bigint
) RETURNS TABLE (stored uuid, used bigint) LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_stored uuid;
  v_claimed integer := 0;
BEGIN
  DELETE FROM blob_upload u WHERE u.content = p_content;
  IF NOT FOUND THEN
    RETURN;
  END IF;
  INSERT INTO blob AS b (sha256, size, chunk_bytes, content, held_until)
    VALUES (p_sha256, p_size, p_chunk_bytes, p_content,
      clock_timestamp() + p_hold_ms * interval '1 millisecond')
    ON CONFLICT (sha256) DO UPDATE SET held_until = greatest(b.held_until, excluded.held_until)
    RETURNING b.content INTO v_stored;
  IF p_owner IS NOT NULL THEN
    INSERT INTO blob_claim (sha256, owner, size) VALUES (p_sha256, p_owner, p_size)
      ON CONFLICT DO NOTHING;
    GET DIAGNOSTICS v_claimed = ROW_COUNT;
  END IF;
  IF v_claimed = 1 THEN
    INSERT INTO blob_owner (owner) VALUES (p_owner) ON CONFLICT DO NOTHING;
    UPDATE blob_owner o SET bytes = o.bytes + p_size
      WHERE o.owner = p_owner AND (p_quota IS NULL OR o.bytes + p_size <= p_quota);
    IF NOT FOUND THEN
      -- The trigger subtracts what was not added.
      UPDATE blob_owner o SET bytes = o.bytes + p_size WHERE o.owner = p_owner;
      DELETE FROM blob_claim c WHERE c.sha256 = p_sha256 AND c.owner = p_owner;
      IF v_stored = p_content THEN
        DELETE FROM blob b WHERE b.sha256 = p_sha256;
      END IF;
      RETURN QUERY SELECT NULL::uuid, o.bytes FROM blob_owner o WHERE o.owner = p_owner;
      RETURN;
    END IF;
  END IF;
  RETURN QUERY SELECT v_stored, NULL::bigint;
END
$$;
