import { randomBytes } from "node:crypto";
import type { StackReference } from "@stackwright/core";
import type { Grant, GrantScope } from "@stackwright/storage/remote";
import { projectTenancy } from "../domain/run-places.ts";

const READABLE = [
  "StackHead",
  "StateObject",
  "StackOutputs",
  "StackPlan",
  "StackRevision",
  "Fence",
  "Heartbeat",
];
/** What planning adds: its plan, which replaces no other. */
const PLANNING = ["StackPlan"];
/** Bytes of blobs that planning writes: a plan, its document, and large values. */
const MAX_PLAN_BYTES = 512 * 1024 * 1024;

/** Tokens of the executions of one worker. A token is valid exactly while its execution runs. */
export class RunGrants {
  readonly #grants = new Map<string, Grant>();

  /**
   * A token for the resources of one stack. One that only plans adds plans, and can neither change a plan nor write the state,
   * unless an interrupted run has to be recovered first.
   */
  issue(stack: StackReference, access: "plan" | "write"): string {
    const token = `swr_${randomBytes(32).toString("base64url")}`;
    this.#grants.set(token, runGrant(stack, access));
    return token;
  }

  revoke(token: string): void {
    this.#grants.delete(token);
  }

  /** What a token allows, for the storage service. */
  readonly authorize = (token: string | undefined): Grant | undefined =>
    token === undefined ? undefined : this.#grants.get(token);
}

/** What an execution may do in the store: with the resources of one stack, and with nothing else. */
export function runGrant(stack: StackReference, access: "plan" | "write"): Grant {
  const tenancy = projectTenancy(stack);
  const own = (kinds: readonly string[]) => kinds.map((kind) => ({ group: "stackwright", kind }));
  const scopesOf = (part: Pick<GrantScope, "name" | "namePrefix">): GrantScope[] => [
    { tenancy, ...part, kinds: own(READABLE), access: "read" },
    access === "plan"
      ? { tenancy, ...part, kinds: own(PLANNING), access: "create" }
      : { tenancy, ...part, kinds: own(READABLE), access: "write" },
  ];
  // What a stack has one of, and what it has many of: the id of another stack may begin alike.
  const scopes = [
    ...scopesOf({ name: stack.stack }),
    ...scopesOf({ namePrefix: `${stack.stack}.` }),
  ];
  return { scopes, blobs: "write", ...(access === "plan" && { maxBlobBytes: MAX_PLAN_BYTES }) };
}
