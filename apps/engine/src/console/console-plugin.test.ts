import type { SiteFile } from "@stackwright/console";
import fastify from "fastify";
import { expect, it, onTestFinished } from "vitest";
import { consolePlugin } from "./console-plugin.ts";

const file = (text: string, isImmutable = false): SiteFile => ({
  contentType: "text/html; charset=utf-8",
  content: Buffer.from(text),
  gzip: Buffer.from(`packed ${text}`),
  isImmutable,
});
const FILES = new Map([
  ["index.html", file("page")],
  ["assets/a-1.js", file("script", true)],
]);

function start(read = async (): Promise<ReadonlyMap<string, SiteFile>> => FILES) {
  const app = fastify();
  onTestFinished(async () => app.close());
  consolePlugin(app, read);
  return async (url: string, headers: Record<string, string> = {}) =>
    app.inject({ method: "GET", url, headers });
}

it("serves pages at every address below its own, with a policy, and files for good", async () => {
  const get = start();
  for (const url of ["/console/", "/console/p/web/s/one/r/01ABC?tab=plan", "/console/p/a.b"]) {
    const page = await get(url);
    expect([page.statusCode, page.body]).toEqual([200, "page"]);
    expect(page.headers["cache-control"]).toBe("no-cache");
    const policy = String(page.headers["content-security-policy"]);
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toContain("unsafe");
  }
  const script = await get("/console/assets/a-1.js", { "accept-encoding": "gzip, br" });
  expect([script.body, script.headers["content-encoding"]]).toEqual(["packed script", "gzip"]);
  expect(script.headers["cache-control"]).toContain("immutable");
  expect((await get("/console/assets/b-2.js")).statusCode).toBe(404);
  const etag = String((await get("/console/")).headers.etag);
  expect((await get("/console/", { "if-none-match": etag })).statusCode).toBe(304);
});

it("leads browsers to the pages, and nothing else", async () => {
  const get = start();
  const browser = await get("/", { accept: "text/html,application/xhtml+xml" });
  expect([browser.statusCode, browser.headers.location]).toEqual([302, "/console/"]);
  expect((await get("/", { accept: "application/json" })).statusCode).toBe(404);
  expect((await get("/console")).headers.location).toBe("/console/");
});

it("says that there are no pages, and looks again at the next request", async () => {
  let attempts = 0;
  const get = start(async () => {
    attempts += 1;
    if (attempts === 1) throw new Error("read-only file system");
    return FILES;
  });
  const failed = await get("/console/");
  expect([failed.statusCode, failed.headers["retry-after"]]).toEqual([503, "5"]);
  expect(failed.body).not.toContain("read-only");
  expect((await get("/console/")).statusCode).toBe(200);
});
