import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { expect, it, onTestFinished, vi } from "vitest";
import { startServer } from "../testing/start-server.ts";
import { tryCommand } from "../testing/try-command.ts";

it("the trail is written as lines, and what follows one of them", {
  timeout: 60_000,
}, async () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  onTestFinished(() => void vi.useRealTimers());
  const scratch = await mkdtempDisposable(`${tmpdir()}/audit-command-`);
  onTestFinished(() => scratch.remove());
  const { server, token } = await startServer("none");
  const env = { HOME: scratch.path, STACKWRIGHT_SERVER: server.url, STACKWRIGHT_TOKEN: token };
  const say = async (...words: readonly string[]) =>
    tryCommand(["server", "audit", ...words], { cwd: scratch.path, env });
  for (const name of ["ann", "ben"]) {
    const made = await fetch(`${server.url}/api/v1/users`, {
      method: "POST",
      body: JSON.stringify({ name }),
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    });
    expect(made.status).toBe(201);
  }
  vi.setSystemTime(Date.now() + 61_000);
  const all = await say();
  expect(all.code, all.error).toBe(0);
  const lines = all.output.trim().split("\n");
  const ids = lines.map((line) => (JSON.parse(line) as { readonly id: string }).id);
  expect(lines.filter((line) => line.includes('"CreateUser"'))).toHaveLength(2);
  expect((await say("--after", ids[0] ?? "")).output).toBe(`${lines.slice(1).join("\n")}\n`);
  expect((await say("--after", ids.at(-1) ?? "")).output).toBe("");
  expect((await say("--after", "")).output).toBe(`${lines.join("\n")}\n`);
  const refused = await say("--after", "x");
  expect([refused.code, refused.error]).toEqual([1, expect.stringContaining("not the id")]);
});
