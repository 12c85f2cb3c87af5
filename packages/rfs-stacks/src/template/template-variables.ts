import { encodeJson, typeExpression, unmarkDeep } from "@stackwright/cty";
import type { ModuleConfig, VariableConfig } from "@stackwright/lang";

/** The variables of a template, as the analysis answers them. */
export function templateVariables({ variables }: Pick<ModuleConfig, "variables">): object[] {
  return [...variables.values()]
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .map((variable) => ({
      name: variable.name,
      type: typeExpression(variable.constraint.type),
      ...(variable.description !== undefined && { description: variable.description }),
      ...(variable.default !== undefined && { default: defaultText(variable) }),
      sensitive: variable.sensitive,
      nullable: variable.nullable,
      validations: variable.validations.map(({ condition, errorMessage }) => ({
        condition: condition.source.text.slice(condition.start, condition.end),
        error_message: errorMessage.source.text.slice(errorMessage.start, errorMessage.end),
      })),
    }));
}

/** The default of a sensitive variable stays in the template. */
function defaultText({ sensitive, default: value }: VariableConfig): string {
  if (sensitive || value === undefined) return "<sensitive>";
  return encodeJson(unmarkDeep(value)[0]);
}
