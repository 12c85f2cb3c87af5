import { type Chance, createChance } from "@stackwright/core/testing";
import type { WriteFault } from "./sim-process.ts";

/** What a user does, at which server, when. */
export interface SimAction {
  readonly atMs: number;
  readonly server: number;
  readonly kind:
    | "enqueue"
    | "approve"
    | "discard"
    | "cancel"
    | "lock"
    | "unlock"
    | "freeze"
    | "unfreeze"
    | "override"
    | "settings";
  readonly stack: number;
  readonly actor: "ann" | "bea" | "cem";
  /** Chooses among what the kind leaves open. */
  readonly pick: number;
}

/** A server that ends in an orderly way and starts again, or does not reach the store for some time. */
interface ServerFault {
  readonly server: number;
  readonly atMs: number;
  readonly kind: "restart" | "away";
  readonly ms: number;
}

/** A whole simulation as data; equal cases run equally. */
export interface SimCase {
  readonly seed: number;
  readonly servers: readonly { readonly capacity: number; readonly skewMs: number }[];
  /** The project of each stack. */
  readonly stacks: readonly number[];
  /** Most milliseconds until a call reaches the store. */
  readonly delayMs: number;
  readonly actions: readonly SimAction[];
  readonly writeFaults: readonly WriteFault[];
  readonly serverFaults: readonly ServerFault[];
}

const ACTORS = ["ann", "bea", "cem"] as const;
const KINDS = [
  "enqueue",
  "enqueue",
  "enqueue",
  "enqueue",
  "approve",
  "approve",
  "approve",
  "approve",
  "approve",
  "approve",
  "discard",
  "cancel",
  "cancel",
  "lock",
  "unlock",
  "freeze",
  "unfreeze",
  "override",
  "settings",
] as const;
const FAULTS = [
  "crash-before",
  "crash-after",
  "lost-none",
  "lost-done",
  "lost-late",
  "refused",
  "pause",
  "pause-after",
] as const;

/** How long users and faults are at work. */
const BUSY_MS = 60_000;

/** The case of a seed. */
export function randomCase(seed: number): SimCase {
  const chance = createChance(seed);
  const servers = Array.from({ length: 2 + chance.below(2) }, () => ({
    capacity: 1 + chance.below(3),
    skewMs: chance.pick([0, 0, -4_000, 7_000]),
  }));
  const stacks = Array.from({ length: 3 }, () => chance.below(2));
  const server = (): number => chance.below(servers.length);
  const actions = Array.from(
    { length: 8 + chance.below(20) },
    (): SimAction => ({
      atMs: chance.below(BUSY_MS),
      server: server(),
      kind: chance.pick(KINDS),
      stack: chance.below(stacks.length),
      actor: chance.pick(ACTORS),
      pick: chance.below(1_000),
    }),
  ).toSorted((a, b) => a.atMs - b.atMs);
  return {
    seed,
    servers,
    stacks,
    delayMs: chance.pick([0, 3, 3, 40, 300]),
    actions,
    writeFaults: Array.from({ length: chance.below(9) }, () => randomFault(chance, server())),
    serverFaults: Array.from({ length: chance.below(6) }, () => ({
      server: server(),
      atMs: chance.below(BUSY_MS),
      kind: chance.pick(["restart", "away"] as const),
      ms: 1_000 + chance.below(30_000),
    })),
  };
}

function randomFault(chance: Chance, server: number): WriteFault {
  const kind = chance.pick(FAULTS);
  return {
    server,
    ofExecutor: chance.maybe(0.4),
    fromMs: chance.below(BUSY_MS),
    write: 1 + chance.below(8),
    kind,
    // Of a pause: also beyond what a lease lasts.
    ms: kind.startsWith("pause") ? chance.pick([2_000, 12_000, 40_000]) : 20 + chance.below(20_000),
  };
}
