import type { Logger } from "@stackwright/base/logger";
import type { StackReference } from "@stackwright/core";
import type { Project, StackDrift } from "@stackwright/proto/stackwright";
import type { Resource, ResourceId } from "@stackwright/storage";
import { decodeRecord } from "../domain/record-kind.ts";
import { STACK_KIND } from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { type Mirror, type MirrorParts, mirrorKind } from "../queue/mirror-kind.ts";

/** What decides when a stack is checked. */
export interface DriftFact {
  readonly stack: StackReference;
  /** Absent where the record cannot be read. */
  readonly drift?: Pick<
    StackDrift,
    | "stackName"
    | "rule"
    | "nextAtMs"
    | "partNextAtMs"
    | "check"
    | "checkAtMs"
    | "asked"
    | "loads"
    | "loadsOfPart"
  > & {
    /** When the first ignore ends; 0 where nothing is ignored. */
    readonly ignoredUntilMs: number;
  };
}

/** A stack by its name. */
export interface NamedStack {
  readonly stack: StackReference;
  readonly stackName: string;
}

/** What a sweep looks through: the records of drift, the projects with a rule, and the stacks, of all accounts. */
export interface DriftIndex {
  /** By the key of the stack. */
  readonly drifts: ReadonlyMap<string, DriftFact>;
  /** By account and name. */
  readonly projects: ReadonlyMap<string, Pick<Project, "drift">>;
  readonly stacks: Iterable<NamedStack>;
}

const KINDS = {
  drifts: SERVER_KINDS.drift,
  projects: SERVER_KINDS.project,
  stacks: STACK_KIND,
} as const;

/** The part of a {@link DriftIndex} that one kind gives. */
class FactsOf<T> implements Mirror {
  readonly facts = new Map<string, T>();
  readonly #keyOf: (id: ResourceId) => string;
  readonly #read: (resource: Resource) => T | undefined;

  constructor(keyOf: (id: ResourceId) => string, read: (resource: Resource) => T | undefined) {
    this.#keyOf = keyOf;
    this.#read = read;
  }

  set(resource: Resource): void {
    const fact = this.#read(resource);
    const key = this.#keyOf(resource.id);
    if (fact === undefined) this.facts.delete(key);
    else this.facts.set(key, fact);
  }

  delete({ id }: Resource): void {
    this.facts.delete(this.#keyOf(id));
  }
}

function emptyFacts(logger: Logger) {
  const readable = <T>(read: (resource: Resource) => T) => {
    return (resource: Resource): T | undefined => {
      try {
        return read(resource);
      } catch (error) {
        logger.error(
          { kind: resource.id.type.kind, id: resource.id, err: error },
          "cannot be read",
        );
        return undefined;
      }
    };
  };
  const drift = readable((resource) => {
    const { ignores, ...record } = decodeRecord(KINDS.drifts, resource);
    const { stackName, rule, nextAtMs, partNextAtMs, check, checkAtMs, asked } = record;
    const { loads, loadsOfPart } = record;
    const ends = ignores.map(({ untilMs }) => Number(untilMs));
    const ignoredUntilMs = ends.length === 0 ? 0 : Math.min(...ends);
    const times = { nextAtMs, partNextAtMs, checkAtMs, ignoredUntilMs };
    return { stackName, rule, ...times, check, asked, loads, loadsOfPart };
  });
  return {
    drifts: new FactsOf<DriftFact>(placeKey, (resource) => {
      const { tenancy, name } = resource.id;
      const stack = { account: tenancy.partition, project: tenancy.namespace, stack: name };
      const read = drift(resource);
      return { stack, ...(read !== undefined && { drift: read }) };
    }),
    projects: new FactsOf<Pick<Project, "drift">>(
      ({ tenancy, name }) => `${tenancy.partition}/${name}`,
      readable((resource) => {
        const { drift: rule } = decodeRecord(KINDS.projects, resource);
        return rule && { drift: rule };
      }),
    ),
    stacks: new FactsOf<NamedStack>(
      placeKey,
      readable((resource) => {
        const { tenancy, name } = resource.id;
        const { id } = decodeRecord(KINDS.stacks, resource);
        const stack = { account: tenancy.partition, project: tenancy.namespace, stack: id };
        return { stack, stackName: name };
      }),
    ),
  };
}

function placeKey({ tenancy, name }: Pick<ResourceId, "tenancy" | "name">): string {
  return `${tenancy.partition}/${tenancy.namespace}/${name}`;
}

/** Follows the store until the signal aborts; `index` is there once each kind was read. `onSynced` is called when it is. */
export class DriftMirror {
  readonly done: Promise<unknown>;
  readonly #facts: Partial<ReturnType<typeof emptyFacts>> = {};

  constructor(parts: MirrorParts, onSynced: () => void, signal: AbortSignal) {
    const follow = async (kind: keyof typeof KINDS): Promise<void> =>
      mirrorKind(
        parts,
        KINDS[kind].type,
        {
          create: () => emptyFacts(parts.logger)[kind],
          onSynced: (mirror) => {
            Object.assign(this.#facts, { [kind]: mirror });
            if (this.index !== undefined) onSynced();
          },
          onChange: () => undefined,
        },
        signal,
      );
    this.done = Promise.all([follow("drifts"), follow("projects"), follow("stacks")]);
  }

  get index(): DriftIndex | undefined {
    const { drifts, projects, stacks } = this.#facts;
    if (drifts === undefined || projects === undefined || stacks === undefined) return undefined;
    return { drifts: drifts.facts, projects: projects.facts, stacks: stacks.facts.values() };
  }
}
