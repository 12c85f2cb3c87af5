import type {
  DocumentContent,
  DocumentOperation,
  DocumentSchema,
  OpenApiDocument,
} from "./document.ts";
import { limitsText, membersOf, type TypeStyle, typeText } from "./type-text.ts";

const STYLE: TypeStyle = {
  link: (component) => `<a href="#${escape(component)}">${escape(component)}</a>`,
  code: (text) => `<code>${escape(text)}</code>`,
};

/** A page about the API: one file, without scripts, fonts or anything from elsewhere. */
export function openapiPage(document: OpenApiDocument): string {
  const byTag = new Map<string, string[]>();
  for (const [path, operations] of Object.entries(document.paths ?? {})) {
    for (const [method, operation] of Object.entries(operations)) {
      const [tag = "other"] = operation.tags ?? [];
      const sections = byTag.get(tag) ?? [];
      sections.push(operationSection(method, path, operation));
      byTag.set(tag, sections);
    }
  }
  const descriptions = new Map(
    document.tags?.map(({ name, description = "" }) => [name, description]),
  );
  const tags = [...new Set([...descriptions.keys(), ...byTag.keys()])].filter((tag) =>
    byTag.has(tag),
  );
  const body = tags.map(
    (tag) =>
      `<h2>${escape(tag)}</h2>\n<p>${escape(descriptions.get(tag) ?? "")}</p>\n${(byTag.get(tag) ?? []).join("\n")}`,
  );
  const schemas = Object.entries(document.components?.schemas ?? {}).map(
    ([name, schema]) => `<h3 id="${escape(name)}">${escape(name)}</h3>\n${schemaBody(schema)}`,
  );
  const title = `${escape(document.info.title)} ${escape(document.info.version)}`;
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${title}</title>
<style>
body{font:16px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:60rem;padding:0 1rem}
code{font-family:ui-monospace,monospace;overflow-wrap:anywhere}
summary{cursor:pointer;padding:.3rem 0}
details>p,details>table{margin-inline-start:1rem}
.m{display:inline-block;min-width:4.5rem;font-weight:600;text-transform:uppercase}
th,td{padding:.1rem 1rem .1rem 0;text-align:start;vertical-align:top}
@media (prefers-color-scheme:dark){body{background:#111;color:#ddd}a{color:#8bf}}
</style></head>
<body><h1>${title}</h1><p><a href="/openapi.json">OpenAPI document</a></p>
${body.join("\n")}
<h2>schemas</h2>
${schemas.join("\n")}
</body></html>
`;
}

function operationSection(method: string, path: string, operation: DocumentOperation): string {
  const { summary = "", description = "", parameters = [], responses = {} } = operation;
  const access = operation["x-access"];
  const needs = access === undefined ? "" : `Needs ${access}.`;
  const takes = parameters.map(({ name, in: place, required = false, description: what, schema }) =>
    row(`<code>${escape(name)}</code>, ${place}`, required, {
      ...schema,
      ...(what !== undefined && { description: what }),
    }),
  );
  const upload = operation["x-body"];
  if (upload !== undefined) takes.push(cells(["body", escape(upload), "read as a stream"]));
  takes.push(...contentRows("body", operation.requestBody?.content, ""));
  const answers = Object.entries(responses).flatMap(
    ([status, { description: what = "", content }]) => {
      const rows = status.startsWith("2") ? contentRows(status, content, what) : [];
      return rows.length > 0 ? rows : [cells([`<code>${escape(status)}</code>`, "", escape(what)])];
    },
  );
  const text = [needs, description].filter((part) => part !== "").map(escape);
  return `<details><summary><span class="m">${escape(method)}</span><code>${escape(path)}</code> ${escape(summary)}</summary>
<p>${text.join(" ")}</p>${table("Takes", takes)}${table("Answers", answers)}</details>`;
}

/** A row for the content of each type, and one for each of its members that has no schema of its own. */
function contentRows(
  name: string,
  content: DocumentContent = {},
  description: string,
): readonly string[] {
  return Object.entries(content).flatMap(([type, { schema = {} }]) => {
    if (schema.type === "null") return [];
    const kind = schema.properties === undefined ? typeText(schema, STYLE) : "object";
    const shown = type === "application/json" ? kind : escape(type);
    const head = cells([`<code>${escape(name)}</code>`, shown, escape(description)]);
    return [head, ...memberRows(schema)];
  });
}

function schemaBody(schema: DocumentSchema): string {
  const rows = memberRows(schema);
  if (rows.length > 0) return `<table>${rows.join("")}</table>`;
  const parts = [typeText(schema, STYLE), limitsText(schema, STYLE)];
  return `<p>${parts.filter((part) => part !== "").join("; ")}</p>`;
}

function memberRows(schema: DocumentSchema): readonly string[] {
  return membersOf(schema).map((member) =>
    row(`<code>${escape(member.path)}</code>`, member.isRequired, member.schema),
  );
}

function row(name: string, isRequired: boolean, schema: DocumentSchema): string {
  const notes = [
    isRequired ? "" : "optional",
    escape(schema.description ?? ""),
    limitsText(schema, STYLE),
  ];
  return cells([name, typeText(schema, STYLE), notes.filter((note) => note !== "").join("; ")]);
}

function table(head: string, rows: readonly string[]): string {
  if (rows.length === 0) return "";
  return `<table><tr><th colspan="3">${head}</th></tr>${rows.join("")}</table>`;
}

function cells(texts: readonly string[]): string {
  return `<tr>${texts.map((text) => `<td>${text}</td>`).join("")}</tr>`;
}

function escape(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}
