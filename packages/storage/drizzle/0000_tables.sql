CREATE TABLE "blob" (
	"sha256" "bytea" PRIMARY KEY NOT NULL,
	"size" bigint NOT NULL,
	"chunk_bytes" integer NOT NULL,
	"content" uuid NOT NULL,
	"held_until" timestamp with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "blob_chunk" (
	"content" uuid NOT NULL,
	"position" integer NOT NULL,
	"sha256" "bytea" NOT NULL,
	"bytes" "bytea" NOT NULL,
	CONSTRAINT "blob_chunk_content_position_pk" PRIMARY KEY("content","position")
);
--> statement-breakpoint
CREATE TABLE "blob_upload" (
	"content" uuid PRIMARY KEY NOT NULL,
	"active_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "event" (
	"revision" bigint PRIMARY KEY NOT NULL,
	"operation" smallint NOT NULL,
	"version" text COLLATE "C" NOT NULL,
	"written" bigint NOT NULL,
	"body" "bytea" NOT NULL
);
--> statement-breakpoint
CREATE TABLE "resource" (
	"grp" text COLLATE "C" NOT NULL,
	"kind" text COLLATE "C" NOT NULL,
	"partition" text COLLATE "C" NOT NULL,
	"peer_name" text COLLATE "C" NOT NULL,
	"namespace" text COLLATE "C" NOT NULL,
	"name" text COLLATE "C" NOT NULL,
	"uid" text COLLATE "C" NOT NULL,
	"version" text COLLATE "C" NOT NULL,
	"owner" "bytea",
	"body" "bytea" NOT NULL,
	CONSTRAINT "resource_grp_kind_partition_peer_name_namespace_name_pk" PRIMARY KEY("grp","kind","partition","peer_name","namespace","name")
);
--> statement-breakpoint
CREATE TABLE "staged" (
	"restore" uuid NOT NULL,
	"position" bigserial NOT NULL,
	"staged_at" timestamp with time zone DEFAULT now() NOT NULL,
	"grp" text COLLATE "C" NOT NULL,
	"kind" text COLLATE "C" NOT NULL,
	"partition" text COLLATE "C" NOT NULL,
	"peer_name" text COLLATE "C" NOT NULL,
	"namespace" text COLLATE "C" NOT NULL,
	"name" text COLLATE "C" NOT NULL,
	"uid" text COLLATE "C" NOT NULL,
	"version" text COLLATE "C" NOT NULL,
	"owner" "bytea",
	"body" "bytea" NOT NULL,
	CONSTRAINT "staged_restore_position_pk" PRIMARY KEY("restore","position")
);
--> statement-breakpoint
CREATE TABLE "store" (
	"id" smallint PRIMARY KEY NOT NULL,
	"epoch" uuid DEFAULT gen_random_uuid() NOT NULL,
	"revision" bigint DEFAULT 0 NOT NULL,
	"compacted" bigint DEFAULT 0 NOT NULL,
	"written" bigint DEFAULT 0 NOT NULL,
	CONSTRAINT "store_one_row" CHECK ("store"."id" = 1)
);
--> statement-breakpoint
CREATE INDEX "blob_held_until" ON "blob" USING btree ("held_until");--> statement-breakpoint
CREATE INDEX "resource_owner" ON "resource" USING btree ("owner") WHERE "resource"."owner" IS NOT NULL;