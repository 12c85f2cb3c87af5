import { RfsStacksError } from "../errors.ts";
import type { RfsConfiguration, RfsStack } from "../port/stack-port.ts";
import type { BodyFields } from "../request/body-fields.ts";
import { readTemplateFile, requireTemplateFile, templateFiles } from "../template/read-template.ts";
import { readVariables, VARIABLE_FIELDS } from "../template/read-variables.ts";
import { templateModule } from "../template/template-module.ts";
import type { OperationCall } from "./operation.ts";

/** The template of a request with its values; undefined where it gives no template. */
export async function configurationOf(
  call: OperationCall,
  fields: BodyFields,
): Promise<RfsConfiguration | undefined> {
  const { port, signal } = call;
  const file = await readTemplateFile(port, fields, signal);
  if (file === undefined) {
    const given = VARIABLE_FIELDS.find((name) => fields.has(name));
    if (given === undefined) return undefined;
    throw new RfsStacksError("RFS_PARAMETER_CONFLICT", `${given} is given without a template`);
  }
  const files = await templateFiles(file, signal);
  const config = templateModule(files);
  const variables = await readVariables(port, fields, config, signal);
  return { files, variables, hasImports: config.imports.length > 0 };
}

/** The same where a template is required. */
export async function requireConfiguration(
  call: OperationCall,
  fields: BodyFields,
): Promise<RfsConfiguration> {
  const { port, signal } = call;
  const files = await templateFiles(await requireTemplateFile(port, fields, signal), signal);
  const config = templateModule(files);
  const variables = await readVariables(port, fields, config, signal);
  return { files, variables, hasImports: config.imports.length > 0 };
}

/** Going back would destroy what was imported, which somebody else made. */
export function refuseImports(
  { hasImports }: RfsConfiguration,
  { autoRollback }: Pick<RfsStack, "autoRollback">,
): void {
  if (!hasImports || !autoRollback) return;
  throw new RfsStacksError(
    "RFS_PARAMETER_CONFLICT",
    "the template imports objects, which cannot be taken back; set enable_auto_rollback to false first",
  );
}

/** Refuses what this server does not do, rather than to pass over it. */
export function refuseUnsupported(fields: BodyFields): void {
  if ((fields.list("agencies", 10) ?? []).length > 0) {
    throw new RfsStacksError(
      "RFS_NOT_OFFERED",
      "agencies: this server assumes no agencies; credentials of providers are variables of the stack, and those of functions are in the table of functions of the operator",
    );
  }
}
