import { randomBytes } from "node:crypto";
import { type Clock, systemClock } from "@stackwright/base/clock";
import type { Logger } from "@stackwright/base/logger";
import {
  type Collection,
  createRuntime,
  type Index,
  type Inspector,
  type Runtime,
  type WatchedCollection,
} from "@stackwright/krt";
import type { StorageBackend } from "@stackwright/storage";
import { ChangeRing } from "./change-ring.ts";
import { type DueProviderChange, deriveDueProviderChanges } from "./due-provider-changes.ts";
import { type DueTrigger, deriveDueTriggers } from "./due-triggers.ts";
import { EventLog } from "./event-log.ts";
import { followKind } from "./follow-kind.ts";
import { deriveKnownConstraints } from "./known-constraints.ts";
import { LiveCounts } from "./live-counts.ts";
import { type ModulesFact, PLANNED_MODULES } from "./module-facts.ts";
import { deriveProviderChanges, QUARANTINES, RELEASES } from "./provider-changes.ts";
import { PROVIDER_CONSTRAINTS } from "./provider-constraints.ts";
import {
  deriveProviderReactions,
  PROJECT_REACTIONS,
  type ProviderReactionFact,
  STORED_REACTIONS,
} from "./provider-reactions.ts";
import {
  deriveProviderVersions,
  PROVIDER_HEALTH,
  PROVIDER_VERSIONS,
  type ProviderVersionStatus,
} from "./provider-versions.ts";
import { deriveReactions, type Reaction, SCHEDULES } from "./reactions.ts";
import { deriveQueue, deriveRecentRuns, type NamedRun, type QueuedRun } from "./recent-runs.ts";
import { followedResources, type ResourceFact } from "./resource-facts.ts";
import { ResourceRings } from "./resource-rings.ts";
import {
  ACCOUNT_SETS,
  type AccountSetFact,
  DRIFTS,
  FREEZES,
  LOCKS,
  OUTPUTS,
  type OutputsFact,
  QUEUES,
  RUNS,
  type RunFact,
  STACKS,
  STUCK_STEPS,
  type StackFact,
  TRIGGERS,
  type TriggerFact,
  VARIABLE_SETS,
  type VariableSetFact,
} from "./stack-facts.ts";
import { orderByDrift, orderByPlace } from "./stack-orders.ts";
import { deriveStackStatus, deriveStacksById, type StackStatus } from "./stack-status.ts";

/** Turns that a reader may be behind before it gets everything again. */
const KEPT_TURNS = 10_000;

/** Changes of single objects that are kept for diagnosis. */
const KEPT_EVENTS = 10_000;

/** The objects of all stacks, which are followed from the first question about them on. */
interface LiveResources {
  readonly all: WatchedCollection<ResourceFact>;
  readonly byStack: Index<string, ResourceFact>;
  readonly rings: ResourceRings;
  /** How many of the first snapshot were read. */
  readonly listed: () => number;
}

interface LiveParts {
  readonly storage: StorageBackend;
  readonly logger: Logger;
}

/**
 * What one server sees of the whole store, kept current by its watches: it says how things are at a glance, and decides nothing.
 * What has to be right reads the store. A watch that breaks continues by itself; meanwhile the view is of the time before.
 */
export class LiveView implements Disposable {
  /** Of this view: positions in it mean nothing to another one. */
  readonly epoch = randomBytes(6).toString("hex");
  readonly stacks: Collection<StackStatus>;
  readonly stackChanges: ChangeRing<StackStatus>;
  readonly runChanges: ChangeRing<NamedRun>;
  readonly queueChanges: ChangeRing<QueuedRun>;
  readonly registryChanges: ChangeRing<ProviderVersionStatus>;
  readonly reactionChanges: ChangeRing<Reaction>;
  readonly #named: Collection<StackFact>;
  /** By key. */
  readonly identified: Collection<StackFact>;
  /** By project and name. */
  readonly placed: Collection<StackFact>;
  /** Those with drift, the most of it first. */
  readonly drifted: Collection<StackStatus>;
  readonly outputs: Collection<OutputsFact>;
  /** What stacks were made with, by the key of the stack whose outputs they read. */
  readonly readersOf: Index<string, OutputsFact>;
  /** By the key of the stack whose outputs they follow. */
  readonly followersOf: Index<string, TriggerFact>;
  readonly triggers: Collection<TriggerFact>;
  readonly variableSets: Collection<VariableSetFact>;
  /** Of accounts as a whole. */
  readonly accountSets: Collection<AccountSetFact>;
  readonly dueTriggers: Collection<DueTrigger>;
  /** The stacks that react to changes of the providers that they use. */
  readonly providerReactions: Collection<ProviderReactionFact>;
  /** By key of the stack. */
  readonly runsOfStack: Collection<{ readonly key: string; readonly objects: readonly RunFact[] }>;
  readonly inspector: Inspector;
  /** Of all collections but the resources, which are by far the most. */
  readonly events: EventLog;
  readonly #parts: LiveParts;
  readonly #clock: Clock;
  readonly #rt: Runtime;
  readonly #runs: Collection<RunFact>;
  #counts: LiveCounts | undefined;
  #resources: LiveResources | undefined;
  readonly #providerVersions: Collection<ProviderVersionStatus>;
  #dueProviderChanges: Collection<DueProviderChange> | undefined;
  #modules: WatchedCollection<ModulesFact> | undefined;

  /** `clock` is that by which it is counted how long something waits. */
  constructor({ clock = systemClock, ...parts }: LiveParts & { readonly clock?: Clock }) {
    const { logger } = parts;
    const rt = createRuntime({
      // A note per run of a derivation: why a page shows what it shows can be asked at any time.
      explain: true,
      onError: (error) => logger.warn({ err: error }, "the live view has an error"),
    });
    this.#parts = parts;
    this.#clock = clock;
    this.#rt = rt;
    this.#named = followKind(rt, parts, STACKS);
    const stacks = deriveStacksById(rt, this.#named);
    const queues = followKind(rt, parts, QUEUES);
    const runs = followKind(rt, parts, RUNS);
    this.#runs = runs;
    const runsOfStack = rt.index(runs, (run) => run.stack).asCollection({ name: "runs by stack" });
    const outputs = followKind(rt, parts, OUTPUTS);
    const triggers = followKind(rt, parts, TRIGGERS);
    const locks = followKind(rt, parts, LOCKS);
    const stuckSteps = followKind(rt, parts, STUCK_STEPS);
    const freezes = followKind(rt, parts, FREEZES);
    const drifts = followKind(rt, parts, DRIFTS);
    this.identified = stacks;
    this.placed = orderByPlace(rt, stacks);
    this.runsOfStack = runsOfStack;
    this.outputs = outputs;
    this.readersOf = rt.index(outputs, ({ inputs }) => inputs.map(({ key }) => key));
    this.triggers = triggers;
    this.followersOf = rt.index(triggers, ({ producer }) => producer);
    this.variableSets = followKind(rt, parts, VARIABLE_SETS);
    this.accountSets = followKind(rt, parts, ACCOUNT_SETS);
    this.stacks = deriveStackStatus(rt, {
      stacks,
      runsOfStack,
      queues,
      runs,
      stuckSteps,
      locks,
      freezes,
      drifts,
      outputs,
    });
    this.drifted = orderByDrift(rt, this.stacks);
    this.dueTriggers = deriveDueTriggers(rt, { triggers, outputs });
    this.stackChanges = new ChangeRing(this.stacks, KEPT_TURNS);
    this.runChanges = new ChangeRing(deriveRecentRuns(rt, { stacks, runsOfStack }), KEPT_TURNS);
    this.queueChanges = new ChangeRing(deriveQueue(rt, { stacks, runs, queues }), KEPT_TURNS);
    this.#providerVersions = deriveProviderVersions(rt, {
      versions: followKind(rt, parts, PROVIDER_VERSIONS),
      health: followKind(rt, parts, PROVIDER_HEALTH),
    });
    this.registryChanges = new ChangeRing(this.#providerVersions, KEPT_TURNS);
    this.providerReactions = deriveProviderReactions(rt, {
      stacks,
      stored: followKind(rt, parts, STORED_REACTIONS),
      projects: followKind(rt, parts, PROJECT_REACTIONS),
    });
    const { dueTriggers, providerReactions } = this;
    const schedules = followKind(rt, parts, SCHEDULES);
    this.reactionChanges = new ChangeRing(
      deriveReactions(rt, {
        stacks,
        triggers,
        dueTriggers,
        schedules,
        drifts,
        providerReactions,
      }),
      KEPT_TURNS,
    );
    this.inspector = rt.inspect();
    this.events = new EventLog(rt, { capacity: KEPT_EVENTS, nowMs: () => Date.now() });
  }

  /**
   * The objects of all stacks: by far the most that a store holds, so a server whose callers never ask for them does not read
   * them.
   */
  get resources(): LiveResources {
    if (this.#resources === undefined) {
      let listed = 0;
      const all = followKind(this.#rt, this.#parts, followedResources(), (objects) => {
        listed = objects;
      });
      const byStack = this.#rt.index(all, ({ stack }) => stack);
      const rings = new ResourceRings({ named: this.#named, all, byStack });
      this.#resources = { all, byStack, rings, listed: () => listed };
    }
    return this.#resources;
  }

  /** Changes of providers that stacks have to react to: as the resources, which it needs, from the first question on. */
  get dueProviderChanges(): Collection<DueProviderChange> {
    const rt = this.#rt;
    this.#dueProviderChanges ??= deriveDueProviderChanges(rt, {
      reactions: this.providerReactions,
      stacks: this.identified,
      resources: this.resources.all,
      changes: deriveProviderChanges(rt, {
        recorded: [RELEASES, QUARANTINES].map((one) => followKind(rt, this.#parts, one)),
        versions: this.#providerVersions,
      }),
      constraints: deriveKnownConstraints(rt, {
        recorded: followKind(rt, this.#parts, PROVIDER_CONSTRAINTS),
        runsOfStack: this.runsOfStack,
      }),
    });
    return this.#dueProviderChanges;
  }

  /** The modules of the plans of all runs, by key of the run: as the resources, from the first question on. */
  get modules(): WatchedCollection<ModulesFact> {
    this.#modules ??= followKind(this.#rt, this.#parts, PLANNED_MODULES);
    return this.#modules;
  }

  /** What metrics tell: who never asks for them does not have it followed. */
  get counts(): LiveCounts {
    this.#counts ??= new LiveCounts(this.#rt, {
      ...this.#parts,
      clock: this.#clock,
      runs: this.#runs,
    });
    return this.#counts;
  }

  [Symbol.dispose](): void {
    this.events[Symbol.dispose]();
    for (const ring of [
      this.stackChanges,
      this.runChanges,
      this.queueChanges,
      this.registryChanges,
      this.reactionChanges,
    ]) {
      ring[Symbol.dispose]();
    }
    this.#resources?.rings[Symbol.dispose]();
    this.#rt.dispose();
  }
}
