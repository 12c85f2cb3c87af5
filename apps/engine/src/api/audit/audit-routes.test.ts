import { expect, it, onTestFinished, vi } from "vitest";
import { P, startApi } from "../../testing/start-api.ts";

interface Entry {
  readonly sequence: number;
  readonly id: string;
  readonly action: string;
  readonly target: string;
}

it("a program reads the trail from one entry to the next, each once, as pages or as lines", {
  timeout: 60_000,
}, async () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  onTestFinished(() => void vi.useRealTimers());
  const { call, tokenOf, server, first } = await startApi("none");
  const read = async (query: string) => {
    const { status, text, json } = await call("GET", `/api/v1/audit${query}`);
    expect(status, text).toBe(200);
    return json as { readonly entries: readonly Entry[]; readonly next?: number };
  };
  for (const name of ["a", "b", "c"]) await call("POST", `${P}/stacks`, { body: { name } });
  const all = (await read("")).entries;
  expect(all.filter(({ action }) => action === "CreateStack")).toHaveLength(3);
  expect(all.map(({ sequence }) => sequence)).toEqual(all.map((_entry, at) => at + 1));
  const paged: Entry[] = [];
  for (let after = ""; ; ) {
    const { entries, next } = await read(`?limit=2${after}`);
    paged.push(...entries);
    if (next === undefined) break;
    after = `&after=${next}`;
  }
  expect(paged).toEqual(all);
  const lines = await fetch(`${server.url}/api/v1/audit?limit=2`, {
    headers: { authorization: `Bearer ${first.token}`, accept: "application/x-ndjson" },
  });
  expect(lines.headers.get("content-type")).toContain("application/x-ndjson");
  const text = await lines.text();
  expect(text.endsWith("\n")).toBe(true);
  expect(
    text
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Entry),
  ).toEqual(all.slice(0, 2));

  // Two days later it continues where it ended.
  vi.setSystemTime(Date.now() + 2 * 86_400_000);
  await call("POST", `${P}/stacks`, { body: { name: "d" } });
  const { entries } = await read(`?after=${all.length}`);
  expect(entries.map(({ action }) => action)).toContain("CreateStack");
  expect(entries.some(({ id }) => all.some((one) => one.id === id))).toBe(false);
  for (const query of ["?after=x", "?limit=0", "?limit=1001", "?day=2026-01-01"]) {
    expect((await call("GET", `/api/v1/audit${query}`)).status).toBe(400);
  }
  const token = await tokenOf("admin", ["web"]);
  expect((await call("GET", "/api/v1/audit", { token })).status).toBe(403);
});
