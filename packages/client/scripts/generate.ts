import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { text } from "node:stream/consumers";
import { type Schema, SchemaTypes } from "./schema-types.ts";

// Reads the OpenAPI document of a server from standard input and writes src/gen/api.ts: the types of its run API, and a
// table of its operations.

interface Parameter {
  readonly name: string;
  readonly in: "path" | "query" | "header";
  readonly required?: boolean;
  readonly schema: Schema;
}

interface Content {
  readonly content?: Readonly<Record<string, { readonly schema: Schema }>>;
}

interface Operation {
  readonly operationId?: string;
  readonly summary?: string;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: Content;
  readonly responses: Readonly<Record<string, Content>>;
  readonly "x-body"?: string;
}

interface Document {
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

const TARGET = join(import.meta.dirname, "../src/gen");
/** Headers of requests with the members of inputs that carry them. */
const HEADERS: Readonly<Record<string, string>> = {
  "idempotency-key": "idempotencyKey",
  "if-match": "ifMatch",
};

const document = JSON.parse(await text(process.stdin)) as Document;
const types = new SchemaTypes(document.components.schemas);

/** The lines of one operation: its declaration, and its row of the table. */
function describe(path: string, method: string, operation: Operation) {
  const {
    operationId: name = "",
    summary = "",
    parameters = [],
    requestBody,
    responses,
  } = operation;
  const binary = operation["x-body"];
  const body = requestBody?.content?.["application/json"]?.schema;
  const members = parameters.map(({ name: key, in: place, required = false, schema }) => {
    const member = place === "header" ? HEADERS[key] : key;
    if (member === undefined) throw new Error(`${name} has the unknown header ${key}`);
    const optional = required ? ["", ""] : ["?", " | undefined"];
    return `readonly ${member}${optional[0]}: ${types.typeOf(schema)}${optional[1]};`;
  });
  if (body !== undefined) {
    const { required = [] } = types.resolve(body);
    const optional = required.length === 0 ? ["?", " | undefined"] : ["", ""];
    members.push(`readonly body${optional[0]}: ${types.typeOf(body)}${optional[1]};`);
  }
  if (binary !== undefined) members.push("readonly body: UploadBody;");
  const successes = Object.entries(responses)
    .filter(([status]) => status.startsWith("2"))
    .map(([, { content = {} }]) => Object.entries(content)[0]);
  const isStream = successes.some((entry) => entry?.[0] === "text/event-stream");
  const isText = successes.every((entry) => entry?.[0].startsWith("text/") === true);
  const isBytes = successes.every((entry) => entry?.[0] === "application/octet-stream");
  const outputs = successes.map((entry) =>
    isBytes
      ? "Uint8Array"
      : entry === undefined || entry[1].schema.type === "null"
        ? "undefined"
        : types.typeOf(entry[1].schema),
  );
  // Problem documents are declared with the first operation that answers them.
  for (const [status, { content = {} }] of Object.entries(responses)) {
    if (status.startsWith("2")) continue;
    for (const { schema } of Object.values(content)) types.typeOf(schema);
  }
  const query = parameters.filter((one) => one.in === "query").map((one) => one.name);
  const item = query.includes("after") ? pageItem(successes[0]?.[1].schema) : undefined;
  const row = {
    method: method.toUpperCase(),
    path,
    query,
    headers: parameters.filter((one) => one.in === "header").map((one) => one.name),
    ...(binary !== undefined && { upload: binary }),
    ...(item !== undefined && { items: item.member }),
    ...(isText && { text: true }),
    ...(isBytes && { bytes: true }),
  };
  const declared = [
    `  /** ${summary}: \`${method.toUpperCase()} ${path}\`. */`,
    `  readonly ${name}: {`,
    `    readonly input: {${members.length === 0 ? "" : `\n${members.map((line) => `      ${line}`).join("\n")}\n    `}};`,
    `    readonly output: ${[...new Set(outputs)].join(" | ")};`,
    ...(item === undefined ? [] : [`    readonly item: ${item.type};`]),
    "  };",
  ];
  return {
    name,
    isStream,
    declared: declared.join("\n"),
    row: `  ${name}: ${JSON.stringify(row)},`,
  };
}

/** Operations of our own API that have a name; what is left has clients of its own. */
function isCalled(path: string, { operationId }: Operation): boolean {
  return path.startsWith("/api/v1/") && operationId !== undefined;
}

/** The member of a page that lists, and the type of what it lists. */
function pageItem(page: Schema | undefined): { member: string; type: string } | undefined {
  const { next, ...lists } = (page === undefined ? page : types.resolve(page))?.properties ?? {};
  const [entry] = Object.entries(lists);
  if (next === undefined || entry?.[1].items === undefined) return undefined;
  return { member: entry[0], type: types.typeOf(entry[1].items) };
}

const operations = Object.entries(document.paths)
  .flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  )
  .filter(({ path, operation }) => isCalled(path, operation))
  .map(({ path, method, operation }) => describe(path, method, operation))
  .toSorted((a, b) => (a.name < b.name ? -1 : 1));
if (operations.length === 0) throw new Error("the document has no operations");
// Streams of events are followed, not called.
const called = operations.filter(({ isStream }) => !isStream);

const source = `// Generated by scripts/generate.ts from the OpenAPI document of the server. Not to be edited.

/** The content of an upload. */
export type UploadBody = Uint8Array | (() => AsyncIterable<Uint8Array>);

${types.declarations.join("\n\n")}

/** The operations of the API by name, with what they take and return. */
export interface Operations {
${called.map(({ declared }) => declared).join("\n")}
}

/** How an operation is sent. */
export interface OperationRow {
  readonly method: string;
  readonly path: string;
  readonly query: readonly string[];
  readonly headers: readonly string[];
  /** Content type of a body other than JSON. */
  readonly upload?: string;
  /** Member of a page that holds its items. */
  readonly items?: string;
  /** The answer is a text, and not JSON. */
  readonly text?: true;
  /** The answer is bytes. */
  readonly bytes?: true;
}

export const OPERATIONS: { readonly [Name in keyof Operations]: OperationRow } = {
${called.map(({ row }) => row).join("\n")}
};
`;
await mkdir(TARGET, { recursive: true });
await writeFile(join(TARGET, "api.ts"), source);
