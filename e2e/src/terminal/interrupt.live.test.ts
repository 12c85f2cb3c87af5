import { describe, expect, it } from "vitest";
import { cli } from "../testing/cli.ts";
import { waitFor } from "../testing/wait-for.ts";
import { GATE, gateFile, inTerminal, needsTmux, scratchWith } from "../testing/with-terminal.ts";

const MAIN =
  GATE +
  gateFile("quick") +
  gateFile("stopped", '  gate = "never"') +
  gateFile("waited", '  gate = "later"\n  deaf = true') +
  gateFile("behind", "  content = gate_file.waited.size");

describe("Ctrl-C", () => {
  needsTmux();

  it("once waits for what runs, begins nothing new, and records everything", async () => {
    const scratch = await scratchWith({ "main.tf": MAIN });
    const terminal = await inTerminal(scratch, ["up", "--yes"]);
    await waitFor("three calls", () => scratch.calls().length === 3);
    await terminal.shows("1/4");
    await terminal.press("C-c");
    await terminal.shows("Stopping: what runs is waited for. Ctrl-C again stops at once.");
    await scratch.open("later");
    const { code, screen } = await terminal.end();
    expect(code).toBe(130);
    expect(screen).toMatch(/gate_file\.waited: Creation complete/);
    expect(screen).toMatch(/gate_file\.stopped: Creating failed/);
    expect(screen).toContain("Apply stopped: 2 added, 0 changed, 0 destroyed, 1 failed");
    expect(scratch.calls()).toHaveLength(3);
    const listed = await cli(scratch, ["state", "list"]);
    expect(listed.output).toBe("gate_file.quick\ngate_file.waited\n");

    await scratch.open("never");
    const next = await cli(scratch, ["up", "--yes"]);
    expect(next).toMatchObject({ code: 0 });
    expect(next.output).toContain("Apply complete: 2 added, 0 changed, 0 destroyed.");
    expect(await cli(scratch, ["plan", "-detailed-exitcode"])).toMatchObject({ code: 0 });
  });

  it("twice waits for nothing; the next run recovers an update", async () => {
    const text = (word: string): string =>
      GATE + gateFile("a", `  content = "${word}"\n  gate = "${word}-gate"\n  deaf = true`);
    const scratch = await scratchWith({ "main.tf": text("one") });
    await scratch.open("one-gate");
    expect(await cli(scratch, ["up", "--yes"])).toMatchObject({ code: 0 });
    await scratch.write({ "main.tf": text("two") });
    const terminal = await inTerminal(scratch, ["up", "--yes"]);
    await waitFor("the update", () => scratch.calls().includes("update a"));
    await terminal.press("C-c");
    await terminal.shows("Stopping");
    await terminal.press("C-c");
    const { code, screen } = await terminal.end(20_000);
    expect(code).toBe(130);
    expect(screen).toMatch(/gate_file\.a: Unresolved/);
    // Reading works meanwhile, and says that something is open.
    expect(await cli(scratch, ["show"])).toMatchObject({ code: 0 });

    await scratch.open("two-gate");
    const next = await cli(scratch, ["up", "--yes"]);
    expect(next).toMatchObject({ code: 0 });
    expect(next.output).toContain("1 changed");
    expect(await cli(scratch, ["plan", "-detailed-exitcode"])).toMatchObject({ code: 0 });
  });

  it("twice leaves a create unresolved that has no probe, and says how to continue", async () => {
    const scratch = await scratchWith({ "main.tf": MAIN });
    const terminal = await inTerminal(scratch, ["up", "--yes"]);
    await waitFor("three calls", () => scratch.calls().length === 3);
    // The first of all is recorded before the rest is given up.
    await terminal.shows("1/4");
    await terminal.press("C-c");
    await terminal.shows("Stopping");
    await terminal.press("C-c");
    expect((await terminal.end(20_000)).code).toBe(130);
    await scratch.open("never");
    await scratch.open("later");

    const next = await cli(scratch, ["up", "--yes"]);
    expect(next.code).toBe(1);
    expect(next.output).not.toContain("is as the configuration says");
    const open = [...next.error.matchAll(/stackwright state resolve-absent '([^']+)'/g)];
    const addresses = open.map(([, address = ""]) => address);
    expect(addresses).toContain("gate_file.waited");
    for (const address of addresses) {
      const told = await cli(scratch, ["state", "resolve-absent", address, "--yes"]);
      expect(told).toMatchObject({ code: 0 });
    }
    expect(await cli(scratch, ["up", "--yes"])).toMatchObject({ code: 0 });
    expect(scratch.calls().filter((call) => call === "create quick")).toHaveLength(1);
    expect(await cli(scratch, ["plan", "-detailed-exitcode"])).toMatchObject({ code: 0 });
  });
});
