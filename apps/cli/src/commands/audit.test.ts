import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { expect, it, onTestFinished } from "vitest";
import { startServer } from "../testing/start-server.ts";
import { tryCommand } from "../testing/try-command.ts";

it("the trail is written as lines, and what follows one of them", {
  timeout: 60_000,
}, async () => {
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
  const all = await say();
  expect(all.code, all.error).toBe(0);
  const lines = all.output.trim().split("\n");
  const places = lines.map((line) => (JSON.parse(line) as { readonly sequence: number }).sequence);
  expect(lines.filter((line) => line.includes('"CreateUser"'))).toHaveLength(2);
  expect((await say("--after", String(places[0]))).output).toBe(`${lines.slice(1).join("\n")}\n`);
  expect((await say("--after", String(places.at(-1)))).output).toBe("");
  expect((await say("--after", "")).output).toBe(`${lines.join("\n")}\n`);
  const refused = await say("--after", "01KB4M4J9QK2Y3T8ZC0V7W5N6X");
  expect([refused.code, refused.error]).toEqual([1, expect.stringContaining("not the sequence")]);
});
