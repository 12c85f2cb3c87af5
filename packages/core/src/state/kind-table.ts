import { FENCE_TYPE, HEARTBEAT_TYPE } from "@stackwright/storage/lease";
import { STATE_KINDS } from "./kinds.ts";
import { STACK_KIND } from "./stack-directory.ts";
import { LINEAGE_KIND } from "./stack-lineage.ts";

/** Every kind that the engine stores, all of them in the tenancies of projects. */
export const ENGINE_KINDS: readonly string[] = Object.freeze(
  [STACK_KIND, LINEAGE_KIND, ...Object.values(STATE_KINDS), FENCE_TYPE, HEARTBEAT_TYPE].map(
    ({ kind }) => kind,
  ),
);
