import { expect, it } from "vitest";
import { startServer } from "../testing/start-server.ts";
import { tryCommand } from "../testing/try-command.ts";

async function start() {
  const { server, token } = await startServer("none");
  const call = async (method: string, path: string, body: object) => {
    const answer = await fetch(new URL(`/api/v1/projects/${path}`, server.url), {
      method,
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    expect(answer.ok).toBe(true);
  };
  const env = { HOME: "/nonexistent", STACKWRIGHT_SERVER: server.url, STACKWRIGHT_TOKEN: token };
  const watch = async (words: readonly string[], signal?: AbortSignal) =>
    tryCommand(["watch", ...words], { env, ...(signal !== undefined && { signal }) });
  return { call, watch };
}

it("writes how all stacks are", { timeout: 60_000 }, async () => {
  const { call, watch } = await start();
  const none = await watch(["--once"]);
  expect([none.code, none.output, none.error]).toEqual([
    0,
    "",
    expect.stringContaining("no stacks"),
  ]);
  await call("POST", "web/stacks", { name: "site" });
  await call("POST", "base/stacks", { name: "network" });
  await call("PUT", "base/stacks/network/lock", { reason: "maintenance" });
  const all = async () => (await watch(["--once"])).output;
  await expect
    .poll(all)
    .toMatch(/^base\/network: no runs, locked by \S+: maintenance\nweb\/site: no runs\n$/);
  expect((await watch(["--once", "--project", "web"])).output).toBe("web/site: no runs\n");
  const [line = ""] = (await watch(["--once", "--json", "--project", "web"])).output.split("\n");
  expect(JSON.parse(line)).toMatchObject({ type: "set", project: "web", name: "site", waiting: 0 });
});

it("ends quietly when the user ends it", { timeout: 60_000 }, async () => {
  const { watch } = await start();
  const leave = new AbortController();
  const watching = watch([], leave.signal);
  leave.abort(new Error("Ctrl-C"));
  expect(await watching).toEqual({ code: 130, output: "", error: "" });
});

it("names a token that the server refuses", { timeout: 60_000 }, async () => {
  const { server } = await startServer("none");
  const env = { HOME: "/nonexistent", STACKWRIGHT_SERVER: server.url, STACKWRIGHT_TOKEN: "wrong" };
  const refused = await tryCommand(["watch"], { env });
  expect([refused.code, refused.error]).toEqual([1, expect.stringContaining("unauthenticated")]);
});
