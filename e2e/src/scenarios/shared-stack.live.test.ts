import { describe, expect, it, onTestFinished } from "vitest";
import { type CliProcess, cli, startCli } from "../testing/cli.ts";
import type { Scratch } from "../testing/scratch.ts";
import { waitFor } from "../testing/wait-for.ts";
import { GATE, gateFile, scratchWith } from "../testing/with-terminal.ts";

const MAIN = `${GATE}${gateFile("slow", '  content = "made"\n  gate    = "open"')}
output "size" { value = gate_file.slow.size }
`;

function startedUp(scratch: Scratch, words: readonly string[]): CliProcess {
  const running = startCli(scratch, words);
  onTestFinished(() => running.signal("SIGKILL"));
  return running;
}

describe("two users on one embedded store", () => {
  it("the second is notified, waits, and reads meanwhile", async () => {
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
});
