import type { Variable } from "@stackwright/proto/stackwright";
import { type Static, Type } from "typebox";
import type { OwnedVariable, VariableOrigin } from "../../domain/variable-precedence.ts";
import { categoryOf } from "../../worker/run-variables.ts";

export const VariableCategory = Type.Union([Type.Literal("terraform"), Type.Literal("env")]);
export const VariableKey = Type.String({ pattern: "^[A-Za-z_][A-Za-z0-9_-]{0,127}$" });
export const VariableView = Type.Object(
  {
    category: VariableCategory,
    key: Type.String(),
    sensitive: Type.Boolean(),
    value: Type.Optional(Type.String({ description: "absent for sensitive variables" })),
    description: Type.String(),
  },
  { title: "Variable" },
);
/** Where a value is from. */
const Origin = {
  origin: Type.Union([Type.Literal("stack"), Type.Literal("set")]),
  set: Type.Optional(Type.String({ description: "name of the set" })),
  scope: Type.Optional(
    Type.Union([Type.Literal("project"), Type.Literal("account")], {
      description: "what the set is of",
    }),
  ),
};
export const EffectiveVariableView = Type.Object(
  {
    ...VariableView.properties,
    ...Origin,
    hides: Type.Array(Type.Object(Origin, { title: "VariableOrigin" }), {
      description: "whose values it wins over, the strongest first",
    }),
  },
  { title: "EffectiveVariable" },
);
export const NewVariable = Type.Object(
  {
    value: Type.String({ maxLength: 65_536 }),
    sensitive: Type.Optional(Type.Boolean()),
    description: Type.Optional(Type.String({ maxLength: 1024 })),
  },
  { additionalProperties: false, title: "NewVariable" },
);

/** A variable as the API shows it: without the value of a sensitive one. */
export function variableViewOf(variable: Variable): Static<typeof VariableView> {
  const { key, value, sensitive, description } = variable;
  return {
    category: categoryOf(variable),
    key,
    sensitive,
    ...(!sensitive && { value: Buffer.from(value).toString("utf8") }),
    description,
  };
}

/** A variable that runs of a stack have. */
export function effectiveViewOf({
  variable,
  from,
  hides,
}: OwnedVariable): Static<typeof EffectiveVariableView> {
  return { ...variableViewOf(variable), ...originOf(from), hides: hides.map(originOf) };
}

function originOf(from: VariableOrigin) {
  return from === undefined
    ? { origin: "stack" as const }
    : { origin: "set" as const, set: from.set, scope: from.scope };
}
