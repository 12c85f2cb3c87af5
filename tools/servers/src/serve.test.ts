import { PassThrough } from "node:stream";
import { describe, expect, it } from "vitest";
import { isAlive } from "./child-processes.ts";
import { serveControl } from "./serve.ts";
import { OBEDIENT, ShellServer } from "./testing/shell-server.ts";

async function answers(servers: readonly ShellServer[], text: string): Promise<unknown[]> {
  const lines: unknown[] = [];
  const input = new PassThrough();
  input.end(text);
  await serveControl(servers, input, (line) => lines.push(JSON.parse(line)));
  return lines;
}

describe("serveControl", () => {
  it("obeys line by line and answers with the server's state", async () => {
    await using server = new ShellServer(OBEDIENT);
    await server.launch();
    await server.ready();
    const first = server.pid!;
    const lines = await answers(
      [server],
      "pause 0\nresume 0\nkill9 0\n\nrestart 0\nstop\nkill9 0\n",
    );
    expect(lines).toEqual([
      { ok: true, pid: first },
      { ok: true, pid: first },
      { ok: true, pid: null },
      { ok: true, pid: server.pid },
    ]);
    expect(isAlive(server.pid!)).toBe(true);
  });

  it.each(["kill9 1", "kill9", "explode 0", "constructor 0"])("refuses %s", async (line) => {
    await using server = new ShellServer(OBEDIENT);
    expect(await answers([server], `${line}\n`)).toEqual([
      {
        ok: false,
        error: `"${line}": expected kill9, restart, pause, resume, isolate, rejoin or stop, and 0`,
      },
    ]);
  });

  it("cuts only what has peers off them", async () => {
    await using server = new ShellServer(OBEDIENT);
    const [answer] = await answers([server], "isolate 0\n");
    expect(answer).toMatchObject({ ok: false, error: expect.stringContaining("has no peers") });
  });

  it("answers with the reason when an order fails", async () => {
    await using server = new ShellServer("echo no >&2; exit 1");
    const [answer] = await answers([server], "restart 0\n");
    expect(answer).toMatchObject({ ok: false, error: expect.stringContaining("exit code 1") });
  });
});
