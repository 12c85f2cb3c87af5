import type { TerraformState } from "@stackwright/tfstate";
import type { StateChange } from "../state/state-change.ts";
import { type ImportedState, importState } from "./import-state.ts";

type Adoption = ImportedState["changes"][number];

/** A step from one state to another, without a call of a provider. */
export type StateStep = Extract<StateChange, { kind: "adopt" | "record" | "forget" }>;

/**
 * The steps from one state to another; unchanged objects are not written. Objects that are new come first and those that are gone
 * last, so that an interruption loses nothing. `ENGINE_STATE_FILE_INVALID`.
 */
export function stateSteps(from: TerraformState, to: TerraformState): StateStep[] {
  const before = new Map(importState(from).changes.map((one) => [keyOf(one), one]));
  const after = new Map(importState(to).changes.map((one) => [keyOf(one), one]));
  const added = [...after].filter(([key]) => !before.has(key)).map(([, one]) => one);
  const changed = [...after].flatMap(([key, one]): StateStep[] => {
    const old = before.get(key);
    if (old === undefined || isEqual(comparable(old), comparable(one))) return [];
    const { provider, type, dependencies, createBeforeDestroy } = one.object;
    const phase = one.tainted === true ? "tainted" : "ready";
    const { content } = one;
    const patch = { content, provider, type, dependencies, createBeforeDestroy, phase } as const;
    return [{ kind: "record", key: one.key, patch }];
  });
  const removed = [...before]
    .filter(([key]) => !after.has(key))
    .map(([, { key }]): StateStep => ({ kind: "forget", key }));
  return [...added, ...changed, ...removed];
}

function keyOf({ key, object }: Adoption): string {
  return `${object.mode} ${key.address} ${key.deposed}`;
}

function comparable({ object, content, tainted }: Adoption): unknown {
  const { value, privateBytes, identity } = content;
  const sensitive = value.sensitive.map((path) => path.toString());
  const bytes = Buffer.from(privateBytes).toString("base64");
  return { object, value: { ...value, sensitive }, bytes, identity, tainted };
}

function isEqual(left: unknown, right: unknown): boolean {
  return JSON.stringify(left) === JSON.stringify(right);
}
