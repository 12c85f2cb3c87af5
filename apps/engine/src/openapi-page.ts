/** The part of an OpenAPI document that the page shows. */
interface Document {
  readonly info: { readonly title: string; readonly version: string };
  readonly paths?: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

interface Operation {
  readonly tags?: readonly string[];
  readonly summary?: string;
  readonly description?: string;
  readonly responses?: Readonly<Record<string, { readonly description?: string }>>;
}

const METHODS = ["get", "post", "put", "patch", "delete"];

/** A page about the API: one file, without scripts, fonts or anything from elsewhere. */
export function openapiPage(document: Document): string {
  const byTag = new Map<string, string[]>();
  for (const [path, operations] of Object.entries(document.paths ?? {})) {
    for (const method of METHODS) {
      const operation = operations[method];
      if (operation === undefined) continue;
      const [tag = "other"] = operation.tags ?? [];
      const sections = byTag.get(tag) ?? [];
      sections.push(operationSection(method, path, operation));
      byTag.set(tag, sections);
    }
  }
  const body = [...byTag]
    .map(([tag, sections]) => `<h2>${escape(tag)}</h2>\n${sections.join("\n")}`)
    .join("\n");
  const title = `${escape(document.info.title)} ${escape(document.info.version)}`;
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${title}</title>
<style>
body{font:16px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:60rem;padding:0 1rem}
code{font-family:ui-monospace,monospace}
summary{cursor:pointer;padding:.3rem 0}
.m{display:inline-block;min-width:4.5rem;font-weight:600;text-transform:uppercase}
td{padding:.1rem 1rem .1rem 0;vertical-align:top}
@media (prefers-color-scheme:dark){body{background:#111;color:#ddd}a{color:#8bf}}
</style></head>
<body><h1>${title}</h1><p><a href="/openapi.json">OpenAPI document</a></p>
${body}
</body></html>
`;
}

function operationSection(method: string, path: string, operation: Operation): string {
  const answers = Object.entries(operation.responses ?? {})
    .map(
      ([status, { description = "" }]) =>
        `<tr><td><code>${escape(status)}</code></td><td>${escape(description)}</td></tr>`,
    )
    .join("");
  return `<details><summary><span class="m">${escape(method)}</span><code>${escape(path)}</code> ${escape(operation.summary ?? "")}</summary>
<p>${escape(operation.description ?? "")}</p><table>${answers}</table></details>`;
}

function escape(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}
