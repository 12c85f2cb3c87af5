import {
  type ConfigGraph,
  type GraphNode,
  graphClosure,
  nodesOf,
  parseAddress,
  type Repetition,
} from "@stackwright/lang";
import type { RunEvent, RunEventHandler } from "../events.ts";
import type { DeferredPart } from "../plan/plan.ts";
import { localName } from "./local-name.ts";

/** A resource or a call of a module that cannot be planned before something was applied. */
export interface Waiting {
  /** Without keys: `module.a.aws_vpc.b`, `module.a.module.c`. */
  readonly address: string;
  readonly because: string;
  /** Of a resource that would be replaced: objects that wait and need it by record. */
  readonly neededBy?: readonly string[];
}

/** The address of a block, as it is in the configuration. */
export function blockAddress(module: readonly string[], name: string): string {
  return [...module.map((step) => `module.${step}`), name].join(".");
}

/** The address of the block of an object: its own without keys. */
export function blockOf(address: string): string {
  const { value } = parseAddress(address);
  if (value?.kind !== "resource") return address;
  return blockAddress(
    value.module.map(({ name }) => name),
    localName(value),
  );
}

/** Why the instances of a block are not known. */
export function unknownInstances({
  count,
  forEach,
}: Pick<Repetition, "count" | "forEach">): string {
  const argument = forEach !== undefined ? "for_each" : count !== undefined ? "count" : "enabled";
  return `its ${argument} depends on values that are known after this stage`;
}

/** Everything that is left to a later stage: what waits itself, and the resources that depend on it. */
export function deferredParts(
  graph: ConfigGraph,
  waiting: readonly Waiting[],
): readonly DeferredPart[] {
  const parts = new Map<string, DeferredPart>();
  const nodesBy = waiting.map((one) => {
    const { value } = parseAddress(one.address);
    return { ...one, nodes: value === undefined ? [] : nodesOf(graph, value) };
  });
  for (const one of waiting) parts.set(one.address, one);
  for (const { address, nodes } of nodesBy) {
    for (const node of graphClosure(nodes, "dependents")) {
      const own = resourceAddress(node);
      if (own === undefined || parts.has(own) || own.startsWith(`${address}.`)) continue;
      parts.set(own, { address: own, because: `it depends on ${address}` });
    }
  }
  return [...parts.values()];
}

function resourceAddress(node: GraphNode): string | undefined {
  if (node.kind !== "resource" || node.resource.mode === "ephemeral") return undefined;
  return blockAddress(node.module.path, localName(node.resource));
}

/**
 * The events of one round of planning. What is planned or reported in a round that is made again without what waits, is not so;
 * only the last round knows.
 */
export class RoundEvents {
  readonly #onEvent: RunEventHandler;
  readonly #held: RunEvent[] = [];

  constructor(onEvent: RunEventHandler = () => undefined) {
    this.#onEvent = onEvent;
  }

  readonly take = (event: RunEvent): void => {
    if (event.type === "planned" || event.type === "diagnostic") this.#held.push(event);
    else this.#onEvent(event);
  };

  release(): void {
    for (const event of this.#held) this.#onEvent(event);
  }
}
