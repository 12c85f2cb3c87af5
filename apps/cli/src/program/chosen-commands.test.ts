import type { Command } from "commander";
import { describe, expect, it } from "vitest";
import { silentProgram } from "../testing/silent-program.ts";
import { ALL_COMMANDS } from "./all-commands.ts";
import { definitionsFor, OFTEN_USED } from "./chosen-commands.ts";

const named = (program: Command, word: string): Command | undefined =>
  program.commands.find((one) => one.name() === word || one.aliases().includes(word));

/** All that a user can see of a command and those that belong to it. */
function shapeOf(command: Command | undefined): unknown {
  return {
    name: command?.name(),
    aliases: command?.aliases(),
    help: command?.helpInformation(),
    options: command?.options.map(({ flags, hidden, defaultValue }) => [
      flags,
      hidden,
      defaultValue,
    ]),
    commands: command?.commands.map(shapeOf),
  };
}

describe("commands that are used often", () => {
  const all = silentProgram();

  it.each([...OFTEN_USED.keys()])("%s is defined alone as among all", async (word) => {
    const definitions = await definitionsFor([word, "-json"]);
    expect(definitions).not.toBe(ALL_COMMANDS);
    const alone = named(silentProgram(definitions), word);
    expect(alone).toBeDefined();
    expect(shapeOf(alone)).toEqual(shapeOf(named(all, word)));
  });

  it.each([
    ["behind a folder", ["-chdir", "plans", "plan"]],
    ["behind a folder in the same word", ["--chdir=plans", "plan"]],
    ["behind an option", ["--no-color", "plan"]],
  ])("are found %s", async (_, words) => {
    expect(await definitionsFor(words)).toBe(OFTEN_USED.get("plan"));
  });

  it.each([
    ["nothing", []],
    ["help", ["help", "plan"]],
    ["the short form of the version", ["-version"]],
    ["a command that does not exist", ["plam"]],
    ["a name that objects have", ["constructor"]],
  ])("do not stand in for %s", async (_, words) => {
    expect(await definitionsFor(words)).toBe(ALL_COMMANDS);
  });
});
