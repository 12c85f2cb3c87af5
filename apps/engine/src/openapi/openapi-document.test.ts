import { beforeAll, expect, test } from "vitest";
import { servedDocument } from "../testing/served-document.ts";
import {
  COMPONENTS,
  componentOf,
  type DocumentOperation,
  type OpenApiDocument,
} from "./document.ts";
import { openapiPage } from "./openapi-page.ts";
import { referencePages } from "./reference-pages.ts";

let document: OpenApiDocument;
beforeAll(async () => {
  document = await servedDocument();
}, 60_000);

function operations(): readonly (DocumentOperation & { readonly route: string })[] {
  return Object.entries(document.paths ?? {}).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, one]) => ({ ...one, route: `${method} ${path}` })),
  );
}

test("each operation has one tag, and each tag is described and used", () => {
  const tags = document.tags?.map(({ name }) => name) ?? [];
  expect(operations().filter(({ tags: own = [] }) => own.length !== 1)).toEqual([]);
  const used = new Set(operations().flatMap(({ tags: own = [] }) => own));
  expect([...used].toSorted()).toEqual(tags.toSorted());
});

test("each operation of our own says what its caller needs", () => {
  const own = operations().filter(({ route }) => route.includes("/api/v1/projects/"));
  expect(own.length).toBeGreaterThan(90);
  expect(own.filter(({ "x-access": access }) => access === undefined)).toEqual([]);
  const by = new Map(own.map((one) => [one.operationId, one["x-access"]]));
  expect(by.get("ListStacks")).toBe("the role viewer (registry:reader)");
  expect(by.get("CreateRun")).toBe("the role planner");
});

test("references lead to components, and no schema with a name is there twice", () => {
  const text = JSON.stringify(document);
  const references = [...text.matchAll(/"\$ref":"([^"]*)"/g)].map(
    ([, reference = ""]) => reference,
  );
  expect(references.length).toBeGreaterThan(500);
  expect(references.filter((one) => !one.startsWith(COMPONENTS))).toEqual([]);
  const { schemas = {} } = document.components ?? {};
  const unknown = references.map(componentOf).filter((name) => !(name in schemas));
  expect(unknown).toEqual([]);
});

test("answers are described", () => {
  expect(JSON.stringify(document)).not.toContain("Default Response");
});

test("the pages of the reference have each operation and each schema, and links that lead to them", () => {
  const pages = new Map(referencePages(document).map(({ file, markdown }) => [file, markdown]));
  const all = [...pages.values()].join("\n");
  const routes = operations().map(({ route }) =>
    route.replace(/^\w+/, (word) => word.toUpperCase()),
  );
  expect(routes.filter((route) => !all.includes(`\n\`${route}\``))).toEqual([]);
  for (const [, file = "", , anchor] of all.matchAll(/\]\(([\w-]+\.md)(#([\w-]+))?\)/g)) {
    const page = pages.get(file);
    expect(page, file).toBeDefined();
    if (anchor === undefined) continue;
    const headings = [...(page ?? "").matchAll(/^## (.*)$/gm)].map(([, heading]) => heading);
    expect(headings.map((heading) => heading?.toLowerCase())).toContain(anchor);
  }
});

test("the page has an anchor for each link, and nothing that loads", () => {
  const page = openapiPage(document);
  const anchors = new Set([...page.matchAll(/id="([^"]*)"/g)].map(([, anchor]) => anchor));
  const links = [...page.matchAll(/href="#([^"]*)"/g)].map(([, link]) => link);
  expect(links.length).toBeGreaterThan(200);
  expect(links.filter((link) => !anchors.has(link))).toEqual([]);
  expect(page).not.toMatch(/<script|src=|https?:/);
});

test("the page shows names and texts as they are", () => {
  const schema = { type: "string", description: "a <b>text</b>" };
  const get = { summary: "<i>", parameters: [{ name: 'a"b', in: "query" as const, schema }] };
  const page = openapiPage({ info: { title: "A & B", version: "1" }, paths: { "/x": { get } } });
  expect(page).toContain("<h1>A &amp; B 1</h1>");
  expect(page).toContain("a &lt;b&gt;text&lt;/b&gt;");
  expect(page).toContain("a&quot;b");
  expect(page).not.toMatch(/<i>|<b>/);
});
