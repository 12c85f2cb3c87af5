import { silentLogger } from "@stackwright/base/logger";
import { expect, it, onTestFinished } from "vitest";
import { ServerGroup } from "./server-group.ts";

/** Servers by their addresses: the status that each answers with, or "away", "silent"; "stuck" is one that has lost its store. */
type Servers = Record<string, number | "away" | "silent" | "stuck">;

function groupOf(servers: Servers) {
  const asked: string[] = [];
  const group = new ServerGroup({
    servers: Object.keys(servers),
    logger: silentLogger,
    fetch: async (input, init) => {
      const url = input instanceof Request ? input.url : input.toString();
      const found = servers[new URL(url).origin];
      if (!url.endsWith("/readyz")) asked.push(url);
      if (found === "away" || found === undefined) throw new TypeError("fetch failed");
      if (found === "stuck" && url.endsWith("/readyz")) return new Response("", { status: 503 });
      if (found === "silent" || found === "stuck") {
        await new Promise((_, reject) => {
          const { signal } = init ?? {};
          if (signal?.aborted === true) reject(signal.reason as Error);
          signal?.addEventListener("abort", () => reject(signal.reason as Error));
        });
      }
      return new Response("", { status: Number(found) });
    },
  });
  onTestFinished(async () => group[Symbol.asyncDispose]());
  return { group, asked };
}

const a = "http://a:1";
const b = "http://b:1";
const c = "http://c:1";
const waiting = { timeout: 30_000, interval: 20 };

it("sends to the first server what its clients send, with path and query", async () => {
  const { group, asked } = groupOf({ [a]: 200, [b]: 200 });
  await group.fetch(`${a}/api/v1/x?y=1`);
  await group.fetch(`${a}/api/v1/z`);
  expect(asked).toEqual([`${a}/api/v1/x?y=1`, `${a}/api/v1/z`]);
});

it("uses another server after a lost connection, and stays with it", async () => {
  const servers: Servers = { [a]: "away", [b]: 200, [c]: 200 };
  const { group, asked } = groupOf(servers);
  await expect(group.fetch(`${a}/x`)).rejects.toThrow("fetch failed");
  expect((await group.fetch(`${a}/x`)).status).toBe(200);
  servers[a] = 200;
  await group.fetch(`${a}/x`);
  expect(asked).toEqual([`${a}/x`, `${b}/x`, `${b}/x`]);
});

it("uses another server than one that drains", async () => {
  const { group } = groupOf({ [a]: 503, [b]: 200 });
  await expect.poll(() => group.current.url, waiting).toBe(b);
});

it("keeps a server that drains where no other one answers", async () => {
  const servers: Servers = { [a]: 503, [b]: "away" };
  const { group } = groupOf(servers);
  await expect.poll(() => group.members[1]?.state, waiting).toBe("away");
  expect(group.current.url).toBe(a);
});

it("gives requests up that a server stops answering, while another one does", async () => {
  const servers: Servers = { [a]: "silent", [b]: 200 };
  const { group } = groupOf(servers);
  await expect(group.fetch(`${a}/x`)).rejects.toThrow(`${a} is not ready`);
  expect((await group.fetch(`${a}/x`)).status).toBe(200);
  expect(group.current.url).toBe(b);
});

it("gives requests up at a server that has lost its store, while another one is ready", async () => {
  const { group } = groupOf({ [a]: "stuck", [b]: 200 });
  await expect(group.fetch(`${a}/x`)).rejects.toThrow(`${a} is not ready`);
  expect((await group.fetch(`${a}/x`)).status).toBe(200);
});

it("a request that its caller ends says nothing about the server", async () => {
  const { group } = groupOf({ [a]: 200, [b]: 200 });
  const ended = AbortSignal.abort(new Error("enough"));
  await group.fetch(`${a}/x`, { signal: ended }).catch(() => undefined);
  expect(group.current.url).toBe(a);
});
