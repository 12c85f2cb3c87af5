import { readFileSync } from "node:fs";
import { cp, symlink } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { type CliProcess, cli, startCli } from "../testing/cli.ts";
import type { Scratch } from "../testing/scratch.ts";
import { waitFor } from "../testing/wait-for.ts";
import { GATE, gateFile, scratchWith } from "../testing/with-terminal.ts";

const MAIN = `${GATE}${gateFile("slow", '  content = "made"\n  gate    = "open"')}
output "size" { value = gate_file.slow.size }
`;

/** A second person: the same configuration in another folder, and the same files behind the provider. */
async function secondFolder(scratch: Scratch): Promise<string> {
  const other = join(scratch.folder, "other person");
  await cp(scratch.work, other, { recursive: true });
  await symlink(join(scratch.work, "site"), join(other, "site"));
  return other;
}

function startedUp(scratch: Scratch, words: readonly string[], options = {}): CliProcess {
  const running = startCli(scratch, words, options);
  onTestFinished(() => running.signal("SIGKILL"));
  return running;
}

describe("two people on one stack", () => {
  it("on one embedded store: the second is told, waits, and reads meanwhile", async () => {
    const scratch = await scratchWith({ "main.tf": MAIN });
    const first = startedUp(scratch, ["up", "--yes"]);
    await waitFor("the call", () => scratch.calls().includes("create slow"), {
      seen: () => first.text,
    });
    const refused = await cli(scratch, ["up", "--yes"]);
    expect(refused.code).toBe(1);
    expect(refused.error).toContain(`process ${first.child.pid} on `);
    expect(refused.error).toContain("--lock-timeout");
    expect(await cli(scratch, ["show"])).toMatchObject({ code: 0 });
    expect(await cli(scratch, ["plan", "-refresh=false"])).toMatchObject({ code: 0 });

    const second = startedUp(scratch, ["up", "--yes", "--lock-timeout", "90s"]);
    await second.says("Waiting for the store");
    await scratch.open("open");
    expect(await first.end()).toMatchObject({ code: 0 });
    const waited = await second.end();
    expect(waited.code).toBe(0);
    expect(waited.output).toContain("No changes.");
    expect(scratch.calls()).toEqual(["create slow"]);
  });

  it("over a server: one writes under a fence, the other is told who, waits and sees the result", async () => {
    const scratch = await scratchWith({ "main.tf": MAIN });
    const other = await secondFolder(scratch);
    const store = `sqlite:${join(scratch.folder, "shared store")}`;
    const file = join(scratch.folder, "first.json");
    const key = { STACKWRIGHT_KEY: Buffer.alloc(32, 1).toString("base64") };
    const server = startedUp(
      scratch,
      ["serve", "--store", store, "--port", "0", "--storage-port", "0", "--bootstrap-file", file],
      { env: key },
    );
    await server.says(/The store is at \S+\n/);
    const address = /The store is at (\S+)/.exec(server.text)?.[1] ?? "";
    const { token } = JSON.parse(readFileSync(file, "utf8")) as { token: string };
    const env = {
      ...key,
      STACKWRIGHT_STORE: address,
      STACKWRIGHT_TOKEN: token,
      STACKWRIGHT_ACCOUNT: "default",
    };
    const first = startedUp(scratch, ["up", "--yes"], { env });
    await waitFor("the call", () => scratch.calls().includes("create slow"), {
      seen: () => first.text,
    });
    const refused = await cli(scratch, ["up", "--yes"], { env, cwd: other });
    expect(refused.code).toBe(1);
    expect(refused.error).toContain('The stack "default" is in use by ');
    expect(refused.error).toContain(`process ${first.child.pid}`);
    const words = ["up", "--yes", "--lock-timeout", "90s"];
    const second = startedUp(scratch, words, { env, cwd: other });
    await second.says("Waiting for the stack");
    await scratch.open("open");
    expect(await first.end()).toMatchObject({ code: 0 });
    const waited = await second.end();
    expect(waited.code).toBe(0);
    expect(waited.output).toContain("No changes.");
    expect(scratch.calls()).toEqual(["create slow"]);
    const seen = await cli(scratch, ["output", "size"], { env, cwd: other });
    expect(seen).toMatchObject({ code: 0, output: "4\n" });
    server.signal("SIGTERM");
    expect((await server.end(20_000)).code).toBe(0);
  });
});
