import { createDbIvm } from "./db-ivm.ts";
import type { CreateEngine } from "./engine.ts";
import { createHandWritten } from "./hand-written.ts";
import { createKrt } from "./krt.ts";
import { createMobx } from "./mobx.ts";
import { createRxjs } from "./rxjs.ts";
import { createSignals } from "./signals.ts";
import { createHandWrittenWatched, createKrtWatched } from "./watched.ts";

/** All engines, the baseline first. */
export const ENGINES: ReadonlyMap<string, CreateEngine> = new Map([
  ["hand-written", createHandWritten],
  ["krt", createKrt],
  ["signals", createSignals],
  ["rxjs", createRxjs],
  ["mobx", createMobx],
  ["db-ivm", createDbIvm],
]);

/** The same behind a fake watch: copies of objects, through an asynchronous queue. */
export const WATCHED_ENGINES: ReadonlyMap<string, CreateEngine> = new Map([
  ["hand-written, watch", createHandWrittenWatched],
  ["krt, watch", createKrtWatched],
]);
