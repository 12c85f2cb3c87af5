import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { pageBlocks, startPageServer } from "../testing/page-blocks.ts";
import { createPageFolder } from "../testing/page-folder.ts";
import { pageText } from "../testing/page-tables.ts";

// apps/engine/docs/console.md as an operator follows it; what users do at the pages is tried with browsers.

const PATH = "apps/engine/docs/console.md";
const PAGE = pageText(PATH);

it("the page about the console leads from a server to its pages, once by a code, with the policy of the page", {
  timeout: 240_000,
}, async () => {
  const page = await createPageFolder();
  const [block = "", ...blocks] = await pageBlocks(PATH, "sh");
  expect(blocks).toEqual([]);
  const [serve = "", comment = ""] = block.trim().split("\n");
  const { url, here, stop } = await startPageServer(
    serve.replace("/var/lib/stackwright", "data"),
    page,
  );
  const [, address = "", member = "", file = ""] =
    /open (\S+) and sign in with "(\w+)" of (\S+)$/.exec(comment) ?? [];
  const first = JSON.parse(await readFile(join(page.folder, file), "utf8")) as Record<
    string,
    string
  >;
  const token = first[member] ?? "";

  const browser = { accept: "text/html" };
  const root = await fetch(url, { headers: browser, redirect: "manual" });
  expect([root.status, new URL(root.headers.get("location") ?? "", url).href]).toEqual([
    302,
    here(address),
  ]);
  const shown = await fetch(here(address), { headers: browser });
  expect(shown.status).toBe(200);
  const policy = shown.headers.get("content-security-policy") ?? "";
  for (const part of [
    "default-src 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
  ]) {
    expect(policy).toContain(part);
  }
  expect(policy).not.toMatch(/unsafe|https?:|\*/);
  expect((await fetch(`${url}/help/`)).status).toBe(200);

  const get = async (path: string, given = token) =>
    fetch(url + path, { headers: { authorization: `Bearer ${given}` } });
  expect((await get("/api/v1/projects")).status).toBe(200);
  const [, debug = ""] = /^`GET (\S+krt\/object\S+)` gives/m.exec(PAGE) ?? [];
  expect([200, 404]).toContain((await get(debug.replace("KEY", "none"))).status);
  expect((await get(debug, "wrong")).status).toBe(401);
  const [, watch = ""] = /follow `GET (\S+)`/.exec(PAGE) ?? [];
  const stream = await get(`${watch}?topics=stacks`);
  expect(stream.headers.get("content-type")).toContain("text/event-stream");
  await stream.body?.cancel();

  const [, codes = ""] = /such an address by `POST (\S+)`/.exec(PAGE) ?? [];
  const made = await fetch(url + codes, {
    method: "POST",
    headers: { authorization: `Bearer ${token}` },
  });
  expect(made.status).toBe(201);
  expect(JSON.stringify(await made.json())).not.toContain(token);
  expect((await fetch(url + codes, { method: "POST" })).status).toBe(401);
  await stop();

  const [, without = ""] = /^`(--\S+)` serves no pages/m.exec(PAGE) ?? [];
  const other = await startPageServer(`stackwright serve --store sqlite:data ${without}`, page);
  for (const path of ["/", "/console/"]) {
    expect((await fetch(other.url + path, { headers: browser })).status).toBe(404);
  }
});
