import { type Chance, createChance } from "@stackwright/core/testing";
import { Run_Mode } from "@stackwright/proto/stackwright";
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
    | "pass"
    | "settings"
    | "set"
    | "approve-set"
    | "discard-set"
    | "cancel-set"
    | "delete";
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
  /** Workers without a store; in faults and actions they are counted behind the servers. */
  readonly workers: readonly { readonly capacity: number; readonly skewMs: number }[];
  /** The project of each stack. */
  readonly stacks: readonly number[];
  /** Most milliseconds until a call reaches the store. */
  readonly delayMs: number;
  readonly actions: readonly SimAction[];
  readonly writeFaults: readonly WriteFault[];
  readonly serverFaults: readonly ServerFault[];
  readonly schedules: readonly SimSchedule[];
  readonly triggers: readonly SimTrigger[];
  /** What policies do with some of the plans of each stack. */
  readonly policies: readonly PolicyBlock[];
  /** Whether authors of runs may approve them, before users say something else. */
  readonly excludesAuthors: boolean;
  /** Whether some runs are requested in stages. */
  readonly isStaged: boolean;
  /** The times of approvals that projects give, in milliseconds; 0: a week. */
  readonly approvals: { readonly waitMs: number; readonly validMs: number };
  /** Which stacks read which other ones, by their positions; also in circles. */
  readonly reads: readonly SimRead[];
}

/** The configuration of a stack reads outputs of another one of its project. */
interface SimRead {
  readonly reader: number;
  readonly other: number;
}

/** How a policy that fails holds a plan up. */
export type PolicyBlock = "none" | "overridable" | "forbidden";

/** What is requested without a user. */
interface SimSource {
  readonly mode: keyof typeof MODES;
  readonly autoApply?: boolean | undefined;
}

interface SimSchedule extends SimSource {
  readonly stack: number;
  readonly atMs: number;
  /** Every five minutes from then on, in place of once. */
  readonly repeats: boolean;
}

interface SimTrigger extends SimSource {
  /** Positions of stacks: a producer comes before its consumers, so that there are no cycles. */
  readonly producer: number;
  readonly consumer: number;
}

export const MODES = {
  apply: Run_Mode.MODE_APPLY,
  plan: Run_Mode.MODE_PLAN_ONLY,
} as const;

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
  "pass",
  "pass",
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

const TRIGGERS = [
  { producer: 0, consumer: 2 },
  { producer: 1, consumer: 2 },
  { producer: 0, consumer: 1 },
] as const;

/** Pairs of stacks, most of them without a circle. */
const READS: readonly [readonly SimRead[], ...(readonly SimRead[])[]] = [
  [],
  [{ reader: 1, other: 0 }],
  [{ reader: 0, other: 1 }],
  [
    { reader: 1, other: 0 },
    { reader: 2, other: 1 },
  ],
  [
    { reader: 0, other: 2 },
    { reader: 0, other: 1 },
    { reader: 1, other: 2 },
  ],
  [
    { reader: 0, other: 1 },
    { reader: 1, other: 0 },
  ],
];

/** What is done to plan sets. */
const SET_KINDS = [
  "set",
  "set",
  "approve-set",
  "approve-set",
  "approve-set",
  "approve-set",
  "discard-set",
  "cancel-set",
] as const;

/** What happens to requests of remote workers. */
const REQUEST_FAULTS = [
  "lost-late",
  "lost-done",
  "lost-none",
  "crash-after",
  "pause-after",
] as const;

/** How long users and faults are at work. */
const BUSY_MS = 60_000;

/** How much later than a deletion something else is asked for. */
const RIVAL_MS = 400;

/** Kinds of what is done to few workers that have much to do. */
const BUSY_KINDS = ["enqueue", ...Array<"enqueue">(11).fill("enqueue"), ...KINDS] as const;

/** Whether stacks are deleted in a case. */
export function hasDeletions({ actions }: SimCase): boolean {
  return actions.some(({ kind }) => kind === "delete");
}

/** The case of a seed. */
export function randomCase(seed: number): SimCase {
  const chance = createChance(seed);
  // Few workers with much to do, so that tickets wait for one another.
  const isBusy = chance.maybe(0.25);
  const workers = Array.from({ length: isBusy ? 0 : chance.pick([0, 1, 1, 2]) }, () => ({
    capacity: 1 + chance.below(2),
    skewMs: chance.pick([0, -4_000, 7_000]),
  }));
  // Some servers execute nothing themselves.
  const isApart = workers.length > 0 && chance.maybe(0.4);
  const servers = Array.from({ length: isBusy ? 2 : 2 + chance.below(2) }, () => ({
    capacity: isApart ? 0 : isBusy ? 1 : 1 + chance.below(3),
    skewMs: chance.pick([0, 0, -4_000, 7_000]),
  }));
  const stacks = Array.from({ length: 3 }, () => chance.below(2));
  const server = (): number => chance.below(servers.length);
  const process = (): number => chance.below(servers.length + workers.length);
  const actions = Array.from(
    { length: isBusy ? 20 + chance.below(20) : 8 + chance.below(20) },
    (): SimAction => ({
      atMs: chance.below(BUSY_MS),
      server: server(),
      kind: chance.pick(isBusy ? BUSY_KINDS : KINDS),
      stack: chance.below(stacks.length),
      actor: chance.pick(ACTORS),
      pick: chance.below(1_000),
    }),
  ).toSorted((a, b) => a.atMs - b.atMs);
  // From numbers of their own, so that the rest of the case is the same with sets and without.
  const others = createChance(seed ^ 0x5e75);
  const hasSets = others.maybe(0.5);
  const ofSets = Array.from(
    { length: hasSets ? 4 + others.below(12) : 0 },
    (_, index): SimAction => ({
      // The first one makes a set that later ones are about.
      atMs: index === 0 ? others.below(BUSY_MS / 4) : others.below(BUSY_MS),
      server: others.below(servers.length),
      kind: index === 0 ? "set" : others.pick(SET_KINDS),
      stack: others.below(stacks.length),
      actor: others.pick(ACTORS),
      pick: others.below(1_000),
    }),
  );
  // From numbers of their own, too.
  const times = createChance(seed ^ 0xe791);
  const approvals = times.maybe(0.5)
    ? { waitMs: times.pick([0, 8_000, 30_000]), validMs: times.pick([0, 3_000, 20_000]) }
    : { waitMs: 0, validMs: 0 };
  // Most attempts meet a run that has not ended, or a lock.
  const ends = createChance(seed ^ 0xd31e7e);
  const deletions = Array.from({ length: ends.maybe(0.3) ? 4 + ends.below(12) : 0 }, () => {
    const atMs = BUSY_MS / 6 + ends.below((BUSY_MS * 5) / 6);
    const stack = ends.below(stacks.length);
    const pick = ends.below(1_000);
    const actions: SimAction[] = [
      { atMs, server: ends.below(servers.length), kind: "delete", stack, actor: "ann", pick },
    ];
    // At the same time others ask for something of the stack.
    if (ends.maybe(0.6)) {
      const kind = ends.pick(["enqueue", "enqueue", "enqueue", "set", "lock"] as const);
      const actor = ends.pick(ACTORS);
      actions.push({
        atMs: atMs + ends.below(RIVAL_MS),
        server: ends.below(servers.length),
        kind,
        stack,
        actor,
        pick,
      });
    }
    return actions;
  });
  const source: SimSource = {
    mode: chance.pick(["apply", "apply", "plan"]),
    autoApply: chance.pick([true, true, false, undefined]),
  };
  return {
    seed,
    servers,
    workers,
    stacks: hasSets && others.maybe(0.7) ? stacks.map(() => 0) : stacks,
    delayMs: chance.pick([0, 3, 3, 40, 300]),
    actions: [...actions, ...ofSets, ...deletions.flat()].toSorted((a, b) => a.atMs - b.atMs),
    writeFaults: [
      ...Array.from({ length: chance.below(9) }, () => randomFault(chance, process())),
      ...workers.flatMap((_worker, index) =>
        Array.from({ length: chance.below(4) }, () => ({
          ...randomFault(chance, servers.length + index),
          ofExecutor: false,
          kind: chance.pick(REQUEST_FAULTS),
        })),
      ),
    ],
    serverFaults: Array.from({ length: chance.below(6) }, () => ({
      server: process(),
      atMs: chance.below(BUSY_MS),
      kind: chance.pick(["restart", "away"] as const),
      ms: 1_000 + chance.below(30_000),
    })),
    schedules: Array.from({ length: chance.below(3) }, () => ({
      ...source,
      stack: chance.below(stacks.length),
      atMs: 5_000 + chance.below(BUSY_MS),
      repeats: chance.maybe(0.3),
    })),
    triggers: TRIGGERS.slice(chance.below(TRIGGERS.length + 1)).map((ends) => ({
      ...source,
      ...ends,
    })),
    policies: stacks.map(() => chance.pick(["none", "none", "overridable", "forbidden"])),
    excludesAuthors: chance.maybe(0.3),
    isStaged: others.maybe(0.4),
    approvals,
    reads: others.pick(READS),
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
