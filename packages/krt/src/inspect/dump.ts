import { DerivedNode } from "../core/derived-node.ts";
import type { Entry } from "../core/entry.ts";
import { JoinNode } from "../core/join-node.ts";
import { NestedJoinNode } from "../core/nested-join-node.ts";
import type { AnyNode } from "../core/node.ts";

/** One input in a dump. Empty parts are left out. */
export interface InputDump {
  readonly outputs?: readonly string[];
  /** Names of the collections it fetched, once per fetch, sorted. */
  readonly dependencies?: readonly string[];
}

/** The state of one collection in a dump. Empty parts are left out. */
export interface CollectionState {
  readonly outputs?: Readonly<Record<string, unknown>>;
  /** Name of the primary input. */
  readonly inputCollection?: string;
  readonly inputs?: Readonly<Record<string, InputDump>>;
  readonly synced: boolean;
}

/** One collection in the format of the original's debug page. */
export interface CollectionDump {
  readonly uid: number;
  readonly name: string;
  readonly state: CollectionState;
}

export function dumpNode(node: AnyNode): CollectionDump {
  const outputs: Record<string, unknown> = {};
  for (const row of node.rows()) {
    const value: unknown = node.valueOf(row);
    if (value !== undefined) outputs[row.key] = value;
  }
  const inputs = inputsOf(node);
  const primary = node instanceof DerivedNode ? node.primary?.name : undefined;
  return {
    uid: node.id,
    name: node.name,
    state: {
      ...(Object.keys(outputs).length > 0 && { outputs }),
      ...(primary !== undefined && { inputCollection: primary }),
      ...(Object.keys(inputs).length > 0 && { inputs }),
      synced: node.synced,
    },
  };
}

function inputsOf(node: AnyNode): Record<string, InputDump> {
  const inputs: Record<string, InputDump> = {};
  if (node instanceof DerivedNode) {
    for (const entry of node.entries) inputs[entry.input.key] = dumpEntry(entry);
  } else if (node instanceof JoinNode) {
    for (const member of node.members) for (const key of member.keys()) inputs[key] = {};
  } else if (node instanceof NestedJoinNode) {
    for (const member of node.members()) inputs[member.id] = { outputs: [...member.keys()].sort() };
  }
  return inputs;
}

function dumpEntry(entry: Entry): InputDump {
  const { output } = entry;
  const rows = output === undefined ? [] : Array.isArray(output) ? output : [output];
  const outputs = rows.map((row) => row.key).sort();
  const dependencies: string[] = [];
  for (const link of entry.node.linksOf(entry)) dependencies.push(link.query.source.name);
  dependencies.sort();
  return {
    ...(outputs.length > 0 && { outputs }),
    ...(dependencies.length > 0 && { dependencies }),
  };
}
