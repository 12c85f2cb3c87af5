import type { StackStatus } from "@stackwright/client";
import { activeFreeze } from "./active-freeze.ts";
import { Mark } from "./mark.tsx";
import { useNow } from "./time.tsx";

/** Says that plans of a stack are not applied now; nothing where they are. */
export function FreezeBadge({ stack }: { readonly stack: Pick<StackStatus, "freeze"> }) {
  const freeze = activeFreeze(stack, useNow());
  if (freeze === undefined) return null;
  return (
    <span className="badge attention" title={`${freeze.actor}: ${freeze.reason}`}>
      <Mark shape="diamond" />
      {freeze.of === "project" ? "project frozen" : "frozen"}
    </span>
  );
}
