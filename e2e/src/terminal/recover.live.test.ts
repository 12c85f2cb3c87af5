import { describe, expect, it } from "vitest";
import { cli } from "../testing/cli.ts";
import { waitFor } from "../testing/wait-for.ts";
import { GATE, gateFile, inTerminal, needsTmux, scratchWith } from "../testing/with-terminal.ts";

const text = (word: string): string =>
  GATE +
  gateFile("known", `  content = "${word}"\n  gate = "${word}"`) +
  gateFile("first", '  gate = "later"') +
  gateFile("second", '  gate = "later"') +
  gateFile("behind", "  content = gate_file.first.size");

/** A stack in which the provider process ended in the middle of an update and of two creates. */
async function crashed() {
  const scratch = await scratchWith({ "main.tf": text("one") });
  await scratch.open("one");
  const known = ["-target", "gate_file.known"];
  expect(await cli(scratch, ["up", "--yes", ...known])).toMatchObject({ code: 0 });
  await scratch.write({ "main.tf": text("two") });
  return scratch;
}

describe("recover after a provider process ended in the middle of an apply", () => {
  needsTmux();

  it("asks one question for each class in a terminal, and the next run is clean", async () => {
    const scratch = await crashed();
    const up = await inTerminal(scratch, ["up", "--yes"]);
    await waitFor("three calls", () => scratch.calls().length === 4);
    await scratch.open("exit");
    const ended = await up.end(60_000);
    expect(ended.code).toBe(1);
    expect(ended.screen).toMatch(/gate_file\.known: Unresolved/);
    await scratch.close("exit");

    const recover = await inTerminal(scratch, ["recover"]);
    await recover.shows("Read them");
    await recover.type("yes");
    await recover.shows("Do none of them exist?");
    const screen = await recover.screen();
    expect(screen).toContain("gate_file.first");
    expect(screen).toContain("gate_file.second");
    await recover.type("yes");
    const { code, screen: last } = await recover.end(60_000);
    expect(last).toContain("gate_file.known: ");
    expect(last).toContain("gate_file.first: does not exist");
    expect(code).toBe(0);

    await scratch.open("two");
    await scratch.open("later");
    expect(await cli(scratch, ["up", "--yes"])).toMatchObject({ code: 0 });
    expect(await cli(scratch, ["plan", "-detailed-exitcode"])).toMatchObject({ code: 0 });
  });

  it("takes its answers from options alone outside of a terminal", async () => {
    const scratch = await crashed();
    const running = cli(scratch, ["up", "--yes"]);
    await waitFor("three calls", () => scratch.calls().length === 4);
    await scratch.open("exit");
    expect((await running).code).toBe(1);
    await scratch.close("exit");
    const asked = await cli(scratch, ["recover"]);
    expect(asked.code).toBe(1);
    expect(asked.error).toContain("--absent");
    const resolved = await cli(scratch, ["recover", "--yes", "--absent", "all", "--json"]);
    expect(resolved.code).toBe(0);
    const { resolved: done } = JSON.parse(resolved.output) as {
      resolved: { address: string; outcome: string }[];
    };
    expect(done.map(({ address }) => address).toSorted()).toEqual([
      "gate_file.first",
      "gate_file.known",
      "gate_file.second",
    ]);
  });
});
