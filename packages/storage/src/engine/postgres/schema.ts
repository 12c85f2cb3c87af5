import { sql } from "drizzle-orm";
import {
  bigint,
  bigserial,
  check,
  customType,
  index,
  integer,
  pgTable,
  primaryKey,
  smallint,
  text,
  timestamp,
  uuid,
} from "drizzle-orm/pg-core";

// Tables of the PostgreSQL engine and of the blobs beside it. They are named without a schema: every
// connection sets its search path to the one that the store lives in. The migrations under
// `drizzle/` are made from this file by drizzle-kit; the functions in them are written by hand.
//
//   store     one row: the epoch of the content, the revision of the last commit, the revision up to
//             which history is gone, the bytes of all history ever written, and where the tables were at
//             the last commit
//   resource  what is stored now; version is text, as restored versions are opaque
//   event     the history, one row per commit, its revisions without holes; of a delete the last body
//   history_bounds  at most one row: the bounds of the history, as the last instance with bounds of its own set them
//   staged    rows of restores that are not committed yet
//
// Names are compared byte by byte (COLLATE "C"): that is the contract's order of names, and it lets
// the primary key serve prefix scans.

/** Text in byte order. */
const bytewise = customType<{ data: string }>({ dataType: () => 'text COLLATE "C"' });

const bytea = customType<{ data: Uint8Array }>({ dataType: () => "bytea" });

export const store = pgTable(
  "store",
  {
    id: smallint().primaryKey(),
    epoch: uuid().notNull().defaultRandom(),
    revision: bigint({ mode: "number" }).notNull().default(0),
    compacted: bigint({ mode: "number" }).notNull().default(0),
    written: bigint({ mode: "number" }).notNull().default(0),
    place: text(),
  },
  (table) => [check("store_one_row", sql`${table.id} = 1`)],
);

const identity = {
  group: bytewise("grp").notNull(),
  kind: bytewise().notNull(),
  partition: bytewise().notNull(),
  peerName: bytewise("peer_name").notNull(),
  namespace: bytewise().notNull(),
  name: bytewise().notNull(),
};

const content = {
  uid: bytewise().notNull(),
  version: bytewise().notNull(),
  /** The owner's lifetime as one opaque key. */
  owner: bytea(),
  body: bytea().notNull(),
};

export const resource = pgTable("resource", { ...identity, ...content }, (table) => [
  primaryKey({
    columns: [
      table.group,
      table.kind,
      table.partition,
      table.peerName,
      table.namespace,
      table.name,
    ],
  }),
  index("resource_owner").on(table.owner).where(sql`${table.owner} IS NOT NULL`),
]);

export const event = pgTable("event", {
  revision: bigint({ mode: "number" }).primaryKey(),
  /** 1 upsert, 2 delete. */
  operation: smallint().notNull(),
  version: bytewise().notNull(),
  /** `store.written` after this event: lets history be bounded by bytes without summing them up. */
  written: bigint({ mode: "number" }).notNull(),
  body: bytea().notNull(),
  /** When it was committed, by the clock of the server. A default, so that releases before it date their commits too. */
  at: timestamp({ withTimezone: true }).notNull().default(sql`clock_timestamp()`),
});

export const historyBounds = pgTable(
  "history_bounds",
  {
    id: smallint().primaryKey(),
    events: bigint({ mode: "number" }).notNull(),
    bytes: bigint({ mode: "number" }).notNull(),
    maxAgeMs: bigint("max_age_ms", { mode: "number" }),
  },
  (table) => [check("history_bounds_one_row", sql`${table.id} = 1`)],
);

export const staged = pgTable(
  "staged",
  {
    restore: uuid().notNull(),
    position: bigserial({ mode: "number" }).notNull(),
    stagedAt: timestamp("staged_at", { withTimezone: true }).notNull().defaultNow(),
    ...identity,
    ...content,
  },
  (table) => [primaryKey({ columns: [table.restore, table.position] })],
);

/** Blobs that exist. Their chunks are found by `content`, which is made up by the writer. */
export const blob = pgTable(
  "blob",
  {
    sha256: bytea().primaryKey(),
    size: bigint({ mode: "number" }).notNull(),
    chunkBytes: integer("chunk_bytes").notNull(),
    content: uuid().notNull(),
    /** Not collected before this time. */
    heldUntil: timestamp("held_until", { withTimezone: true }).notNull(),
  },
  (table) => [index("blob_held_until").on(table.heldUntil)],
);

export const blobChunk = pgTable(
  "blob_chunk",
  {
    content: uuid().notNull(),
    position: integer().notNull(),
    sha256: bytea().notNull(),
    bytes: bytea().notNull(),
  },
  (table) => [primaryKey({ columns: [table.content, table.position] })],
);

/** The accounts that a blob counts against. With the blob they go, and a trigger subtracts its size. */
export const blobClaim = pgTable(
  "blob_claim",
  {
    sha256: bytea()
      .notNull()
      .references(() => blob.sha256, { onDelete: "cascade" }),
    owner: bytewise().notNull(),
    size: bigint({ mode: "number" }).notNull(),
  },
  (table) => [primaryKey({ columns: [table.sha256, table.owner] })],
);

/** What the blobs that count against an account add up to. Its row orders writers at the quota. */
export const blobOwner = pgTable("blob_owner", {
  owner: bytewise().primaryKey(),
  bytes: bigint({ mode: "number" }).notNull().default(0),
});

/** Contents that are being written and belong to no blob yet. */
export const blobUpload = pgTable("blob_upload", {
  content: uuid().primaryKey(),
  activeAt: timestamp("active_at", { withTimezone: true }).notNull().defaultNow(),
});
