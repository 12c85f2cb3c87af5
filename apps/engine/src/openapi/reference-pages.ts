import type {
  DocumentContent,
  DocumentOperation,
  DocumentSchema,
  OpenApiDocument,
} from "./document.ts";
import { limitsText, membersOf, type TypeStyle, typeText } from "./type-text.ts";

/** A page of the reference of the API. */
interface ReferencePage {
  /** Such as `runs.md`. */
  readonly file: string;
  readonly markdown: string;
}

/** Refusals that any operation may answer, by status: the index describes them once. */
const COMMON = ["400", "401", "403", "404", "429", "500", "503"];
/** In the order in which a request has them. */
const PLACES: readonly string[] = ["path", "query", "header"];
const SCHEMAS = "schemas.md";
const STYLE: TypeStyle = {
  link: (component) => `[\`${component}\`](${SCHEMAS}#${component.toLowerCase()})`,
  code: (text) => {
    const fence = text.includes("`") ? "``" : "`";
    return fence + text.replaceAll("|", "\\|") + fence;
  },
};

/** The reference of an API as pages of Markdown: an index, one page for each tag, and one of the schemas that they name. */
export function referencePages(document: OpenApiDocument): readonly ReferencePage[] {
  const groups = new Map<string, string[]>();
  const rows = new Map<string, string[]>();
  for (const [path, operations] of Object.entries(document.paths ?? {})) {
    for (const [method, operation] of Object.entries(operations)) {
      const [tag = "other"] = operation.tags ?? [];
      const route = `${method.toUpperCase()} ${path}`;
      const { summary = route } = operation;
      groups.set(tag, [...(groups.get(tag) ?? []), sectionOf(route, operation)]);
      rows.set(tag, [...(rows.get(tag) ?? []), `- \`${route}\`: ${startingLow(summary)}`]);
    }
  }
  const descriptions = new Map(
    document.tags?.map(({ name, description = "" }) => [name, description]),
  );
  const tags = [...descriptions.keys(), ...groups.keys()].filter(
    (tag, at, all) => groups.has(tag) && all.indexOf(tag) === at,
  );
  const pages = tags.map((tag) => {
    const intro = [descriptions.get(tag) ?? "", "[All operations](README.md)"];
    const body = [...(groups.get(tag) ?? [])].join("\n\n");
    return {
      file: fileOf(tag),
      markdown: `# API: ${tag}\n\n${intro.filter((part) => part !== "").join(". ")}\n\n${body}\n`,
    };
  });
  const index = tags.map((tag) => {
    const heading = `### [${tag}](${fileOf(tag)})`;
    return `${heading}\n\n${descriptions.get(tag) ?? ""}.\n\n${(rows.get(tag) ?? []).join("\n")}`;
  });
  return [
    { file: "README.md", markdown: `${INTRODUCTION}\n${index.join("\n\n")}\n` },
    ...pages,
    { file: SCHEMAS, markdown: schemasPage(document.components?.schemas ?? {}) },
  ];
}

const INTRODUCTION = `# The API of the server

All operations, with what they take and answer. Written from the OpenAPI document, which each server has at \`/openapi.json\`, and as one page at
\`/docs\`. [The client](../../../../packages/client/README.md) is generated from it, and [runs by curl](../runs.md) shows a whole run.

- **Credentials**: \`Authorization: Bearer TOKEN\`. Each operation says which role its caller needs; a higher role includes the lower ones
  ([roles and tokens](../access.md)). The private providers by the API of RFS take signed requests as well.
- **Lists** come in pages. \`next\` of an answer is the \`after\` of the following request, which the header \`Link\` has as a whole; the last page has none.
- **Changes** of what others may change at the same time need \`If-Match\` with the \`ETag\` of what was read: 428 without it, 412 where it has changed.
- **Repeats**: a \`POST\` with the header \`Idempotency-Key\` has its effect once ([in detail](../runs.md#requests-that-are-repeated)). The same key with another body
  answers 422.
- **Times** are RFC 3339 in UTC; names of members have lower case and underscores.
- **Failures** are \`application/problem+json\` ([\`Problem\`](schemas.md#problem)). Programs decide by \`code\`; \`detail\` is for their users, and \`request_id\` is in the
  log of the server. Any operation may answer these, which its table leaves out:

${table(
  ["status", "meaning"],
  [
    ["400", "the request is not valid; `errors` names the members"],
    ["401", "the request has no valid credential"],
    ["403", "the credential does not allow this"],
    ["404", "there is none, or none that the caller can see"],
    ["429", "too many requests; `Retry-After` has the seconds to wait"],
    ["500", "the server failed; its log has the `request_id`"],
    ["503", "the store does not answer; the same request may succeed later"],
  ],
)}

## Operations
`;

function sectionOf(route: string, operation: DocumentOperation): string {
  const { summary = route, description, operationId, parameters = [], requestBody } = operation;
  const needs = operation["x-access"];
  const facts = [
    `\`${route}\``,
    ...(needs === undefined ? [] : [`needs ${needs}`]),
    ...(operationId === undefined ? [] : [`operation \`${operationId}\``]),
  ];
  const sorted = parameters.toSorted((a, b) => PLACES.indexOf(a.in) - PLACES.indexOf(b.in));
  const takes = sorted.map(({ name, in: place, required = false, description: what, schema }) =>
    rowOf(`\`${name}\` (${place})`, required, {
      ...schema,
      ...(what !== undefined && { description: what }),
    }),
  );
  const upload = operation["x-body"];
  if (upload !== undefined) takes.push(["body", upload, "read as a stream"]);
  for (const [type, schema] of bodies(requestBody?.content)) {
    if (schema.properties === undefined) takes.push(rowOf(`body, ${type}`, true, schema));
    for (const member of membersOf(schema)) {
      takes.push(rowOf(`\`${member.path}\``, member.isRequired, member.schema));
    }
  }
  const answers = Object.entries(operation.responses ?? {})
    .filter(([status]) => !COMMON.includes(status))
    .flatMap(([status, answer]) => answerRows(status, answer));
  return [
    `## ${summary}`,
    `${facts.join("; ")}.${description === undefined ? "" : ` ${sentence(description)}`}`,
    ...(takes.length === 0 ? [] : [table(["takes", "type", ""], takes)]),
    table(["answers", "", ""], answers),
  ].join("\n\n");
}

function answerRows(
  status: string,
  { description = "", content }: NonNullable<DocumentOperation["responses"]>[string],
): readonly (readonly string[])[] {
  if (!status.startsWith("2")) return [[`**${status}**`, "", description]];
  const found = bodies(content);
  if (found.length === 0) return [[`**${status}**`, "", description]];
  return found.flatMap(([type, schema]) => {
    if (schema.type === "null") return [[`**${status}**`, "", description]];
    const isJson = type === "application/json";
    const what = schema.properties !== undefined ? "object" : typeText(schema, STYLE);
    const head = [`**${status}**`, isJson ? what : type, schema.description ?? description];
    const members = membersOf(schema).map((member) =>
      rowOf(`\`${member.path}\``, member.isRequired, member.schema),
    );
    return [head, ...members];
  });
}

function bodies(content: DocumentContent = {}): readonly (readonly [string, DocumentSchema])[] {
  return Object.entries(content).map(([type, { schema = {} }]) => [type, schema]);
}

function rowOf(name: string, isRequired: boolean, schema: DocumentSchema): readonly string[] {
  const notes = [
    isRequired ? "" : "optional",
    schema.description ?? "",
    limitsText(schema.items === undefined ? schema : { ...schema.items, ...schema }, STYLE),
  ];
  return [name, typeText(schema, STYLE), notes.filter((note) => note !== "").join("; ")];
}

function schemasPage(schemas: Readonly<Record<string, DocumentSchema>>): string {
  const sections = Object.entries(schemas).map(([name, schema]) => {
    const members = membersOf(schema).map((member) =>
      rowOf(`\`${member.path}\``, member.isRequired, member.schema),
    );
    const body =
      members.length === 0
        ? [typeText(schema, STYLE), limitsText(schema, STYLE)]
            .filter((part) => part !== "")
            .join("; ")
        : table(["member", "type", ""], members);
    return `## ${name}\n\n${body}`;
  });
  return `# API: schemas\n\nWhat operations take and answer, by name. [All operations](README.md)\n\n${sections.join("\n\n")}\n`;
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((cell, at) =>
    Math.max(3, ...[head, ...rows].map((row) => (row[at] ?? cell).length)),
  );
  const line = (row: readonly string[]): string =>
    `| ${widths.map((width, at) => (row[at] ?? "").padEnd(width)).join(" | ")} |`;
  return [line(head), line(widths.map((width) => "-".repeat(width))), ...rows.map(line)].join("\n");
}

function fileOf(tag: string): string {
  return `${tag.replaceAll(" ", "-")}.md`;
}

function sentence(text: string): string {
  const whole = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(whole) ? whole : `${whole}.`;
}

function startingLow(text: string): string {
  return /^[A-Z][a-z]/.test(text) ? text.charAt(0).toLowerCase() + text.slice(1) : text;
}
