import { createDbIvm } from "./db-ivm.ts";
import type { CreateEngine } from "./engine.ts";
import { createHandWritten } from "./hand-written.ts";
import { createKrt } from "./krt.ts";
import { createMobx } from "./mobx.ts";
import { createRxjs } from "./rxjs.ts";
import { createSignals } from "./signals.ts";

/** All engines, the baseline first. */
export const ENGINES: ReadonlyMap<string, CreateEngine> = new Map([
  ["hand-written", createHandWritten],
  ["krt", createKrt],
  ["signals", createSignals],
  ["rxjs", createRxjs],
  ["mobx", createMobx],
  ["db-ivm", createDbIvm],
]);
