import { RfsStacksError } from "../errors.ts";
import type { RfsTemplateFile } from "../port/stack-port.ts";
import type { RfsOverrides, RfsSetTemplate, RfsStackSet } from "../port/stack-set-port.ts";
import type { BodyFields } from "../request/body-fields.ts";
import { requireTemplateFile, templateFiles } from "../template/read-template.ts";
import { readVariables } from "../template/read-variables.ts";
import { templateModule } from "../template/template-module.ts";
import type { OperationCall } from "./operation.ts";

/** What the members of a request that give values of a stack set are called. */
export const SET_VARIABLE_FIELDS = Object.freeze(["vars_body", "vars_uri"]);

/** The template of a request with its values, as a stack set has them. */
export async function readSetTemplate(
  { port, signal }: OperationCall,
  fields: BodyFields,
): Promise<RfsSetTemplate> {
  const file = await requireTemplateFile(port, fields, signal);
  const config = templateModule(await templateFiles(file, signal));
  if (config.imports.length > 0) {
    throw new RfsStacksError(
      "RFS_PARAMETER_CONFLICT",
      "the template imports objects; deployments of stack sets that fail are taken back, which would destroy what was imported",
    );
  }
  return { file, variables: await readVariables(port, fields, config, signal) };
}

/** The values that a request gives instances instead of those of their set. */
export async function readOverrides(
  { port, signal }: OperationCall,
  fields: BodyFields,
  set: RfsStackSet,
  templateOf: () => Promise<RfsTemplateFile>,
): Promise<RfsOverrides | undefined> {
  const given = fields.object("var_overrides", [...SET_VARIABLE_FIELDS, "use_stack_set_vars"]);
  if (given === undefined) return undefined;
  const dropped = given.texts("use_stack_set_vars", 100) ?? [];
  const config = templateModule(await templateFiles(await templateOf(), signal));
  const values = await readVariables(port, given, config, signal);
  const unknown = [...values.keys(), ...dropped].find((name) => !set.variables.includes(name));
  if (unknown !== undefined) {
    throw new RfsStacksError(
      "RFS_PARAMETER_CONFLICT",
      `var_overrides: the stack set "${set.name}" has no value of the variable "${unknown.slice(0, 64)}"; deploy the stack set with one first`,
    );
  }
  const both = dropped.find((name) => values.has(name));
  if (both === undefined) return { values, dropped };
  throw new RfsStacksError(
    "RFS_PARAMETER_CONFLICT",
    `var_overrides gives the variable "${both}" a value, and names it in use_stack_set_vars`,
  );
}
