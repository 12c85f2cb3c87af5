import type { VariableSet } from "@stackwright/proto/stackwright";
import { type Static, Type } from "typebox";
import { STACK_PATTERN } from "../../domain/stack-pattern.ts";
import { VariableView, variableViewOf } from "../variables/variable-view.ts";

export const SetName = Type.String({ pattern: "^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$" });

const SETTINGS = {
  description: Type.Optional(Type.String({ maxLength: 1024 })),
  stacks: Type.Optional(
    Type.Array(Type.String({ pattern: STACK_PATTERN }), {
      maxItems: 50,
      description: "patterns of names of stacks, with * for any characters; empty for all stacks",
    }),
  ),
  priority: Type.Optional(
    Type.Boolean({ description: "whether its values win over those of the stacks" }),
  ),
};
export const VariableSetSettings = Type.Object(SETTINGS, {
  additionalProperties: false,
  title: "VariableSetSettings",
});
export const NewVariableSet = Type.Object(
  { name: SetName, ...SETTINGS },
  { additionalProperties: false, title: "NewVariableSet" },
);
export const VariableSetView = Type.Object(
  {
    name: Type.String(),
    description: Type.String(),
    stacks: Type.Array(Type.String()),
    priority: Type.Boolean(),
    variables: Type.Array(VariableView),
  },
  { title: "VariableSet" },
);

/** What a request changes of a set. */
export function setChangeOf(given: Static<typeof VariableSetSettings>): Partial<VariableSet> {
  const { description, stacks, priority } = given;
  return {
    ...(description !== undefined && { description }),
    ...(stacks !== undefined && { stacks: [...new Set(stacks)] }),
    ...(priority !== undefined && { priority }),
  };
}

/** A set as the API shows it: without sensitive values. */
export function variableSetViewOf(set: VariableSet): Static<typeof VariableSetView> {
  const { name, description, stacks, priority, variables } = set;
  const views = variables.map(variableViewOf);
  return {
    name,
    description,
    stacks: [...stacks],
    priority,
    variables: views.toSorted((a, b) => (a.key < b.key ? -1 : 1)),
  };
}
