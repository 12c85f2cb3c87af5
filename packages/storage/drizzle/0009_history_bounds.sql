CREATE TABLE "history_bounds" (
	"id" smallint PRIMARY KEY NOT NULL,
	"events" bigint NOT NULL,
	"bytes" bigint NOT NULL,
	"max_age_ms" bigint,
	CONSTRAINT "history_bounds_one_row" CHECK ("history_bounds"."id" = 1)
);
