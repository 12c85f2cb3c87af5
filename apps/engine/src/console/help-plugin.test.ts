import { readHelp } from "@stackwright/console";
import fastify from "fastify";
import { expect, it, onTestFinished } from "vitest";
import { helpPlugin } from "./help-plugin.ts";

const files = await readHelp();
const app = fastify();
helpPlugin(app, async () => files);
const get = async (url: string) => app.inject({ method: "GET", url });

const pages = [...files].filter(([path]) => path.endsWith(".html"));
const textOf = (path: string): string => files.get(path)?.content.toString() ?? "";
const fileOf = (url: string): string =>
  url.replace(/^\/help\//, "").replace(/#.*$/, "") || "index.html";

it("serves the pages with a policy that lets them load nothing of others", async () => {
  onTestFinished(async () => app.close());
  const index = await get("/help/");
  expect(index.statusCode).toBe(200);
  expect(index.headers["content-security-policy"]).toContain("default-src 'none'");
  expect(index.body).toContain('<h1 id="documentation">Documentation</h1>');
  expect((await get("/help")).headers.location).toBe("/help/");
  const page = await get("/help/apps/cli/docs/command.html");
  expect([page.statusCode, page.headers["content-type"]]).toEqual([
    200,
    "text/html; charset=utf-8",
  ]);
  expect((await get("/help/nothing.html")).statusCode).toBe(404);
  expect((await get("/help/..%2f..%2fpackage.json")).statusCode).toBe(404);
});

it("has no page with a script, style or image of another host, nor one inside of the page", () => {
  expect(pages.length).toBeGreaterThan(40);
  for (const [path] of pages) {
    const loaded = [...textOf(path).matchAll(/<(?:script|link|img)\b[^>]*/g)].map(([tag]) => tag);
    const foreign = loaded.filter((tag) => !/ (?:src|href)="\/help\/[^"]+"/.test(tag));
    expect([path, foreign]).toEqual([path, []]);
    expect([
      path,
      /<style|\sstyle=|\son[a-z]+="/.test(textOf(path).replace(/<pre>[^]*?<\/pre>/g, "")),
    ]).toEqual([path, false]);
  }
});

it("leads nowhere with no link", () => {
  const dead = pages.flatMap(([path]) =>
    [...textOf(path).matchAll(/ (?:href|src)="(\/[^"]*)"/g)].flatMap(([, url = ""]) => {
      const target = files.get(fileOf(url));
      if (!url.startsWith("/help/") || target === undefined) return [`${path}: ${url}`];
      const anchor = /#(.+)$/.exec(url)?.[1];
      const has = anchor === undefined || target.content.includes(` id="${anchor}"`);
      return has ? [] : [`${path}: ${url}`];
    }),
  );
  expect(dead).toEqual([]);
});

it("has a page for each error code, which leads to the pages that name it", () => {
  const page = "docs/error-codes/ENGINE_STATE_NOT_ADOPTED.html";
  expect(textOf("docs/error-codes.html")).toContain(`href="/help/${page}"`);
  expect(textOf(page)).toContain('href="/help/apps/cli/docs/adoption.html"');
  expect(textOf("docs/error-codes/self_approval.html")).toContain("cannot approve it");
});

it("shows the files that a page tells readers to take", () => {
  const file = "apps/engine/docs/alert-rules.yaml.html";
  expect(textOf("apps/engine/docs/metrics.html")).toContain(`href="/help/${file}"`);
  expect(textOf(file)).toMatch(
    /<h1[^>]*>alert-rules\.yaml<\/h1>[^]*<pre><code[^]*alert: Stackwright/,
  );
});

/** A file of the index of the search. */
function indexFile(name: string): unknown {
  return JSON.parse(textOf(`search/${name}.json`));
}

interface Sections {
  readonly pages: readonly (readonly [address: string, title: string])[];
  readonly sections: readonly (readonly [page: number, anchor: string, heading: string])[];
  readonly common: readonly string[];
}

it("finds every page by the words of its sections", () => {
  const { pages: indexed, sections, common } = indexFile("sections") as Sections;
  const found = new Set(indexed.map(([address]) => fileOf(address)));
  expect(pages.map(([path]) => path).filter((path) => !found.has(path))).toEqual([]);
  expect(common).toContain("the");
  const words = indexFile("words-p") as Readonly<Record<string, readonly number[]>>;
  let at = 0;
  const places = (words["postgresql"] ?? []).map((step) => (at += step));
  const shown = places.map((place) => {
    const [page = 0] = sections[place] ?? [];
    const first = sections.findIndex(([other]) => other === page);
    const texts = indexFile(`text-${page}`) as readonly string[];
    return `${sections[place]?.[2]} ${texts[place - first]}`.toLowerCase();
  });
  expect(shown.length).toBeGreaterThan(10);
  expect(shown.filter((text) => !text.includes("postgresql"))).toEqual([]);
});

it("lets a search load little: the headings, and what begins with the letters that are typed", () => {
  const sizes = [...files].filter(([path]) => path.startsWith("search/"));
  const bytes = (part: string): number[] =>
    sizes.filter(([path]) => path.includes(part)).map(([, { content }]) => content.byteLength);
  expect(Math.max(...bytes("/words-"))).toBeLessThan(100_000);
  expect(bytes("/sections")[0]).toBeLessThan(400_000);
});
