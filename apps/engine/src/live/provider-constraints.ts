import { kind } from "@stackwright/krt";
import type { ProviderConstraint } from "@stackwright/proto/stackwright";
import { decodeRecord } from "../domain/record-kind.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import type { FollowedKind } from "./follow-kind.ts";
import { placeKey } from "./stack-facts.ts";

/** What the configuration of a stack that was applied last says of the versions of its providers. */
export interface ConstraintsFact {
  /** That of the stack. */
  readonly key: string;
  readonly constraints: readonly ProviderConstraint[];
}

/** Stacks of which nothing is recorded are left out. */
export const PROVIDER_CONSTRAINTS: FollowedKind<ConstraintsFact> = {
  name: "constraints of providers",
  type: SERVER_KINDS.queue.type,
  kind: kind<ConstraintsFact>()({ key: ({ key }) => key }),
  keyOf: placeKey,
  project: (resource) => {
    const { providerConstraints: constraints } = decodeRecord(SERVER_KINDS.queue, resource);
    return constraints.length === 0 ? undefined : { key: placeKey(resource.id), constraints };
  },
};
