import { Mark, Type, Value } from "@stackwright/cty";
import { recordValue } from "../state/record-value.ts";
import type { ObjectContent, ObjectPlan } from "../state/state-change.ts";
import type { Dependency } from "../state/state-object.ts";

const PROVIDER = { source: "example.com/acme/cloud", version: "1.0.0", alias: "" };
export const TYPE = Type.object({ id: Type.string, password: Type.string, size: Type.number });

/** What a resource of the suite is about to become, after others. */
export function plan(...dependencies: readonly string[]): ObjectPlan {
  return {
    mode: "managed",
    type: "cloud_thing",
    provider: PROVIDER,
    dependencies: dependencies.map(edge),
    createBeforeDestroy: false,
  };
}

/** A reference to another instance. */
export function edge(address: string): Dependency {
  return { address, scope: "instance", kind: "reference" };
}

/** What a provider answered, with a secret and a number that no double holds. */
export function content(id: string, password = "canary-7d1f"): ObjectContent {
  const value = Value.object({
    id: Value.string(id),
    password: Value.string(password).mark(Mark.sensitive),
    size: Value.parseNumber("90071992547409931234.5"),
  });
  return {
    value: recordValue(value, TYPE, { schemaVersion: 2, writer: "h1:program" }),
    privateBytes: Buffer.from("canary-private"),
  };
}
