import { type Diagnostic, didYouMean, type ResourceConfig } from "@stackwright/lang";
import type { ResourceSchema } from "@stackwright/mux/router";
import type { ProviderInstance } from "./provider-instances.ts";

const KINDS: Readonly<Record<ResourceConfig["mode"], string>> = {
  managed: "resource type",
  data: "data source",
  ephemeral: "ephemeral resource type",
};

type Use = Pick<ProviderInstance, "reference" | "schema" | "typeSchema">;
type Block = Pick<ResourceConfig, "mode" | "type" | "token" | "range">;

/** The type of a block with its schema, or what is wrong with it. */
type FoundType =
  | { readonly schema: ResourceSchema; readonly problem?: undefined }
  | { readonly schema?: undefined; readonly problem: Diagnostic };

/**
 * Finds the type of a block in the schema of its provider. A block that was written with a token must mean the type that has
 * this token, and that type must have the name under which the block declares its resource.
 */
export function findType(use: Use, block: Block): FoundType {
  if (block.token !== undefined) {
    const problem = tokenProblem(use, { ...block, token: block.token });
    if (problem !== undefined) return { problem };
  }
  const schema = use.typeSchema(block.mode, block.type);
  return schema === undefined ? { problem: unknownType(use, block) } : { schema };
}

function unknownType({ reference, schema }: Use, { mode, type, range }: Block): Diagnostic {
  const names = schema.ambiguous?.get(type);
  const place = { severity: "error", code: "ENGINE_PROVIDER_TYPE", subject: range } as const;
  if (names === undefined) {
    const missing = `The provider ${reference.source} has no ${KINDS[mode]} "${type}".`;
    const detail = missing + meantType(schema, mode, type);
    return { ...place, summary: "Invalid resource type", detail };
  }
  const detail = `Several types of the provider ${reference.source} would be called "${type}", so that none is. They are called ${names.map((name) => `"${name}"`).join(" and ")}.`;
  return { ...place, summary: "Ambiguous resource type", detail };
}

/** The type that was probably meant: of the other kind, or one of a name like it. */
function meantType(schema: Use["schema"], mode: ResourceConfig["mode"], type: string): string {
  const { resources, dataSources, ephemeralResources } = schema;
  if (mode === "managed" && dataSources.has(type)) {
    return ` It is a data source: write data "${type}".`;
  }
  if (mode === "data" && resources.has(type)) {
    return ` It is a resource type: write resource "${type}".`;
  }
  const own = { managed: resources, data: dataSources, ephemeral: ephemeralResources }[mode];
  return didYouMean(type, own?.keys() ?? []);
}

function tokenProblem(
  { reference: { source }, schema, typeSchema }: Use,
  { mode, type, token }: Block & { readonly token: NonNullable<Block["token"]> },
): Diagnostic | undefined {
  const place = { severity: "error", code: "ENGINE_PROVIDER_TYPE", subject: token.range } as const;
  const invalid = (detail: string): Diagnostic => ({
    ...place,
    summary: "Invalid resource type",
    detail,
  });
  if (schema.tokens === undefined) {
    const named = typeSchema(mode, type) === undefined ? "" : ` Write "${type}".`;
    return invalid(`The types of the provider ${source} have names and no tokens.${named}`);
  }
  const { resources, dataSources } = schema.tokens;
  const own = mode === "data" ? dataSources : resources;
  const name = mode === "ephemeral" ? undefined : own.get(token.text);
  if (name === type) return undefined;
  if (name !== undefined) {
    const detail = `Several types of the provider ${source} would be called "${type}", so that none is. Write "${name}", which is what "${token.text}" is called.`;
    return { ...place, summary: "Ambiguous resource type", detail };
  }
  const missing = `The provider ${source} has no ${KINDS[mode]} "${token.text}".`;
  if (resources.has(token.text) && mode !== "managed") {
    return invalid(`${missing} It is a resource type: write resource "${token.text}".`);
  }
  if (dataSources.has(token.text) && mode !== "data") {
    return invalid(`${missing} It is a data source: write data "${token.text}".`);
  }
  if (mode === "ephemeral") return invalid(missing);
  // One that differs in what the name leaves out is the one that was meant.
  const [alike] = [...own].find(([, candidate]) => candidate === type) ?? [];
  const hint =
    alike === undefined ? didYouMean(token.text, own.keys()) : ` Did you mean "${alike}"?`;
  return invalid(missing + hint);
}
