import type { NamedStack } from "@stackwright/core";
import { type Static, Type } from "typebox";

/** What each view of a stack has. */
export const STACK_FACTS = {
  id: Type.String(),
  name: Type.String(),
  project: Type.String(),
  created_at: Type.String(),
};

export const StackView = Type.Object(STACK_FACTS, { title: "Stack" });

export function stackViewOf({
  name,
  reference,
  createdAtMs,
}: NamedStack): Static<typeof StackView> {
  return {
    id: reference.stack,
    name,
    project: reference.project,
    created_at: new Date(createdAtMs).toISOString(),
  };
}
