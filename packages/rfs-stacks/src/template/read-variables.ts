import {
  type Diagnostic,
  type ModuleConfig,
  parseExpression,
  parseFile,
  quoteLiteral,
  readAttributes,
  resolveVariables,
  type VariableConfig,
} from "@stackwright/lang";
import { RfsStacksError } from "../errors.ts";
import type { RfsStacksPort } from "../port/rfs-stacks-port.ts";
import { BodyFields } from "../request/body-fields.ts";
import { readUri } from "./read-uri.ts";
import { MAX_BODY_CHARACTERS, MAX_TEXT_BYTES, MAX_URI_CHARACTERS } from "./template-limits.ts";
import { refuseErrors } from "./template-module.ts";

/** What the members of a request that give values are called. */
export const VARIABLE_FIELDS = Object.freeze(["vars_body", "vars_structure", "vars_uri"]);

/** A value as it was given: an expression in a file of variables, or a text. */
type Given =
  | { readonly kind: "expression"; readonly text: string }
  | { readonly kind: "text"; readonly text: string };

const KEY = /^[A-Za-z][A-Za-z0-9_-]{0,31}$/;
const MAX_VALUES = 100;

/**
 * The values of root variables that a request gives, each as an expression of the language. One variable in two of the three
 * members is refused, as is a value that its variable does not take; values for variables that the template does not declare are passed
 * over, as in files of variables.
 */
export async function readVariables(
  port: Pick<RfsStacksPort, "read">,
  fields: BodyFields,
  config: Pick<ModuleConfig, "variables">,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, string>> {
  const given = new Map<string, Given>();
  const add = (name: string, value: Given): void => {
    if (given.has(name)) {
      throw new RfsStacksError(
        "RFS_PARAMETER_CONFLICT",
        `the variable "${name.slice(0, 64)}" is given twice in vars_body, vars_structure and vars_uri`,
      );
    }
    given.set(name, value);
  };
  const body = fields.text("vars_body", { max: MAX_BODY_CHARACTERS });
  if (body !== undefined) addFile("vars_body.tfvars", body, add);
  const uri = fields.text("vars_uri", { max: MAX_URI_CHARACTERS });
  if (uri !== undefined) {
    const { url } = readUri("vars_uri", uri, [".tfvars"]);
    const bytes = await port.read(url, MAX_TEXT_BYTES, signal);
    addFile("vars_uri.tfvars", bytes, add);
  }
  for (const [at, item] of (fields.list("vars_structure", MAX_VALUES) ?? []).entries()) {
    addItem(at, item, add);
  }
  return expressionsOf(given, config);
}

function addFile(
  name: string,
  text: string | Uint8Array,
  add: (name: string, value: Given) => void,
): void {
  const { body, diagnostics: found } = parseFile({ name, text });
  const diagnostics: Diagnostic[] = [...found];
  const attributes = readAttributes(body, diagnostics);
  refuseErrors(diagnostics, "RFS_VARIABLES_INVALID");
  for (const { name: key, expression } of attributes.values()) {
    const { source, start, end } = expression;
    add(key, { kind: "expression", text: source.text.slice(start, end) });
  }
}

function addItem(at: number, item: unknown, add: (name: string, value: Given) => void): void {
  const where = `vars_structure[${at}]`;
  const fields = new BodyFields(item, ["var_key", "var_value", "encryption"], where);
  if (fields.has("encryption")) {
    throw new RfsStacksError(
      "RFS_NOT_OFFERED",
      `${where}.encryption: this server has no KMS; values are encrypted at rest without it`,
    );
  }
  const key = fields.requiredText("var_key", { min: 1, max: 32 });
  if (!KEY.test(key)) {
    throw new RfsStacksError(
      "RFS_PARAMETER_PATTERN",
      `${where}.var_key begins with a letter and has letters, digits, "_" and "-"`,
    );
  }
  add(key, { kind: "text", text: fields.requiredText("var_value", { max: 2048 }) });
}

function expressionsOf(
  given: ReadonlyMap<string, Given>,
  { variables }: Pick<ModuleConfig, "variables">,
): ReadonlyMap<string, string> {
  const expressions = new Map<string, string>();
  for (const [name, value] of given) {
    const variable = variables.get(name);
    if (variable === undefined) continue;
    expressions.set(name, value.kind === "text" ? expressionOf(variable, value.text) : value.text);
  }
  const sources = [...expressions].map(([name, expression]) => ({
    kind: "file" as const,
    name: `${name}.tfvars`,
    text: `${name} = ${expression}\n`,
  }));
  const own = new Map([...variables].filter(([name]) => expressions.has(name)));
  refuseErrors(resolveVariables(own, sources).diagnostics, "RFS_VARIABLES_INVALID");
  return expressions;
}

/** A text as commands take it: itself for a variable of texts, else an expression. */
function expressionOf({ name, textIsLiteral }: VariableConfig, text: string): string {
  if (textIsLiteral) return `"${quoteLiteral(text)}"`;
  const { diagnostics } = parseExpression({ name: `vars_structure.${name}`, text });
  refuseErrors(diagnostics, "RFS_VARIABLES_INVALID");
  return text.trimEnd();
}
