import type { AccountVariableSet, VariableSet } from "@stackwright/proto/stackwright";
import { type Static, Type } from "typebox";
import { PLACE_PATTERN, SET_STACK_PATTERN, STACK_PATTERN } from "../../domain/stack-pattern.ts";
import { VariableView, variableViewOf } from "../variables/variable-view.ts";

export const SetName = Type.String({ pattern: "^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$" });

const NONE = "empty for all; / alone for none";

/** Patterns of stacks that a set of the account has at most. */
export const MAX_PLACES = 200;
/** Patterns of projects, and of stacks of a project, that a set has at most. */
export const MAX_PATTERNS = 50;

const SETTINGS = {
  description: Type.Optional(Type.String({ maxLength: 1024 })),
  stacks: Type.Optional(
    Type.Array(Type.String({ pattern: SET_STACK_PATTERN }), {
      maxItems: MAX_PATTERNS,
      description: `patterns of names of stacks, with * for any characters; ${NONE}`,
    }),
  ),
  priority: Type.Optional(
    Type.Boolean({ description: "whether its values win over those of the stacks and of runs" }),
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

const ACCOUNT_SETTINGS = {
  description: SETTINGS.description,
  projects: Type.Optional(
    Type.Array(Type.String({ pattern: STACK_PATTERN }), {
      maxItems: MAX_PATTERNS,
      description:
        "patterns of names of projects, with * for any characters; empty for all projects",
    }),
  ),
  stacks: Type.Optional(
    Type.Array(Type.String({ pattern: PLACE_PATTERN }), {
      maxItems: MAX_PLACES,
      description: `patterns of names of stacks, or of PROJECT/STACK, with * for any characters; ${NONE}`,
    }),
  ),
  priority: Type.Optional(
    Type.Boolean({ description: "whether its values win over all others, those of runs included" }),
  ),
};
export const AccountVariableSetSettings = Type.Object(ACCOUNT_SETTINGS, {
  additionalProperties: false,
  title: "AccountVariableSetSettings",
});
export const NewAccountVariableSet = Type.Object(
  { name: SetName, ...ACCOUNT_SETTINGS },
  { additionalProperties: false, title: "NewAccountVariableSet" },
);
export const AccountVariableSetView = Type.Object(
  {
    name: Type.String(),
    description: Type.String(),
    projects: Type.Array(Type.String()),
    stacks: Type.Array(Type.String()),
    priority: Type.Boolean(),
    variables: Type.Array(VariableView),
  },
  { title: "AccountVariableSet" },
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

/** What a request changes of a set of an account. */
export function accountSetChangeOf(
  given: Static<typeof AccountVariableSetSettings>,
): Partial<AccountVariableSet> {
  const { projects, ...others } = given;
  return {
    ...setChangeOf(others),
    ...(projects !== undefined && { projects: [...new Set(projects)] }),
  };
}

/** A set of an account as the API shows it: without sensitive values. */
export function accountSetViewOf(set: AccountVariableSet): Static<typeof AccountVariableSetView> {
  const { name, description, projects, stacks, priority, variables } = set;
  return { ...variableSetViewOf({ name, description, stacks, priority, variables }), projects };
}

/** A set as the API shows it: without sensitive values. */
export function variableSetViewOf(
  set: Pick<VariableSet, "name" | "description" | "stacks" | "priority" | "variables">,
): Static<typeof VariableSetView> {
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
