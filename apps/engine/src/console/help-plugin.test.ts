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

it("shows the files that a page tells readers to take", () => {
  const file = "apps/engine/docs/alert-rules.yaml.html";
  expect(textOf("apps/engine/docs/metrics.html")).toContain(`href="/help/${file}"`);
  expect(textOf(file)).toMatch(
    /<h1[^>]*>alert-rules\.yaml<\/h1>[^]*<pre><code[^]*alert: Stackwright/,
  );
});

it("finds every page by the text of its sections", () => {
  const sections = JSON.parse(textOf("search.json")) as { address: string; text: string }[];
  const found = new Set(sections.map(({ address }) => fileOf(address)));
  expect(pages.map(([path]) => path).filter((path) => !found.has(path))).toEqual([]);
  expect(sections.filter(({ text }) => text.includes("postgres://")).length).toBeGreaterThan(0);
});
