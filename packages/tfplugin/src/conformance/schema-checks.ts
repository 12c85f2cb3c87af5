import type {
  AttributeSchema,
  BlockSchema,
  ProviderSchema,
  ResourceSchema,
} from "@stackwright/mux/router";
import { differenceOfBlocks } from "@stackwright/mux/router";
import type { Findings } from "./check-report.ts";

/** Names of types, as configurations write them. */
const TYPE_NAME = /^[a-z_][a-z0-9_]*$/;
/** What the language reads as one word. */
const NAME = /^[a-zA-Z_][a-zA-Z0-9_-]*$/;
/** Names that mean something to the language in every resource. */
const RESERVED: ReadonlySet<string> = new Set([
  "connection",
  "count",
  "depends_on",
  "for_each",
  "lifecycle",
  "provider",
  "provisioner",
]);
/** Names of what is usually secret. */
const SECRET = /(?:^|_)(?:password|passwd|passphrase|secret|secret_key|private_key|api_key|token)$/;

/** What a schema has to keep to so that the language can use it. */
export function checkSchema(schema: ProviderSchema, findings: Findings): void {
  checkBlock(schema.provider, "provider", findings, { isRoot: false });
  const kinds = [
    ["resource", schema.resources],
    ["data source", schema.dataSources],
    ["ephemeral resource", schema.ephemeralResources],
  ] as const;
  for (const [kind, types] of kinds) {
    for (const [type, { version, block }] of types) {
      if (isToken(type, schema)) continue;
      const place = `${kind} ${type}`;
      if (!TYPE_NAME.test(type)) {
        findings.error(`${place}: the name must match ${String(TYPE_NAME)}`);
      }
      if (!Number.isInteger(version) || version < 0) {
        findings.error(`${place}: the schema version is ${version}`);
      }
      checkBlock(block, place, findings, { isRoot: true });
    }
  }
  const types = [...schema.resources.keys(), ...schema.dataSources.keys()].filter(
    (type) => !isToken(type, schema),
  );
  const prefixes = new Set(types.map((type) => type.split("_")[0]));
  if (prefixes.size > 1) {
    const list = [...prefixes].slice(0, 5).join(", ");
    findings.warn(`types begin with different names (${list}); they begin with the provider's`);
  }
}

/** Types that are known by tokens are declared under these as well. */
export function isToken(type: string, { tokens }: Pick<ProviderSchema, "tokens">): boolean {
  return tokens?.resources.has(type) === true || tokens?.dataSources.has(type) === true;
}

function checkBlock(
  { attributes, blocks }: BlockSchema,
  place: string,
  findings: Findings,
  { isRoot }: { readonly isRoot: boolean },
): void {
  for (const [name, attribute] of attributes) {
    if (isRoot && RESERVED.has(name)) {
      findings.error(`${place}.${name}: the language has this name for itself`);
    }
    checkAttribute(name, attribute, `${place}.${name}`, findings);
  }
  for (const [name, { block, minItems, maxItems }] of blocks) {
    const inner = `${place}.${name}`;
    if (!NAME.test(name)) findings.error(`${inner}: the name must match ${String(NAME)}`);
    if (isRoot && RESERVED.has(name)) {
      findings.error(`${inner}: the language has this name for itself`);
    }
    if (attributes.has(name)) findings.error(`${inner}: it is an attribute and a block`);
    if (maxItems > 0 && minItems > maxItems) {
      findings.error(`${inner}: at least ${minItems} and at most ${maxItems} blocks`);
    }
    checkBlock(block, inner, findings, { isRoot: false });
  }
}

function checkAttribute(
  name: string,
  attribute: AttributeSchema,
  place: string,
  findings: Findings,
): void {
  const { required, optional, computed, writeOnly, sensitive, nested } = attribute;
  if (!NAME.test(name)) findings.error(`${place}: the name must match ${String(NAME)}`);
  if (!required && !optional && !computed) {
    findings.error(`${place}: it is neither required nor optional nor computed`);
  }
  if (required && (optional || computed)) {
    findings.error(`${place}: it is required and ${optional ? "optional" : "computed"}`);
  }
  if (writeOnly && computed) findings.error(`${place}: it is write-only and computed`);
  if (SECRET.test(name) && !sensitive && !writeOnly && attribute.type.kind === "string") {
    findings.warn(`${place}: by its name it is secret, and it is not sensitive`);
  }
  for (const [inner, schema] of nested?.attributes ?? []) {
    checkAttribute(inner, schema, `${place}.${inner}`, findings);
  }
}

/** Where two answers to the same question for the schema differ. */
export function checkSameSchema(
  first: ProviderSchema,
  second: ProviderSchema,
  findings: Findings,
): void {
  const provider = differenceOfBlocks(first.provider, second.provider);
  if (provider !== undefined) findings.error(`provider: the schema differs at ${provider}`);
  sameTypes("resource", first.resources, second.resources, findings);
  sameTypes("data source", first.dataSources, second.dataSources, findings);
}

function sameTypes(
  kind: string,
  first: ReadonlyMap<string, ResourceSchema>,
  second: ReadonlyMap<string, ResourceSchema>,
  findings: Findings,
): void {
  for (const type of new Set([...first.keys(), ...second.keys()])) {
    const difference = differenceOfBlocks(first.get(type)?.block, second.get(type)?.block);
    const place = `${kind} ${type}`;
    if (difference !== undefined) findings.error(`${place}: the schema differs at ${difference}`);
    if (first.get(type)?.version !== second.get(type)?.version) {
      findings.error(`${place}: the schema version differs`);
    }
  }
}
