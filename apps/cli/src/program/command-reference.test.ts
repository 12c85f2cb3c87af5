import { Command, Option } from "commander";
import { expect, it } from "vitest";
import { commandReference } from "./command-reference.ts";

it("has every command that help shows, by name, with its arguments, options and what stands below them", () => {
  const program = new Command("tool").option("--no-color", "plain text");
  program.command("wait").description("wait");
  program.command("old", { hidden: true }).description("hidden");
  const store = program.command("store").alias("s").description("look after a store");
  store
    .command("copy")
    .description("copy all <files> of it")
    .argument("<folder>", "where to")
    .option("--at <revision>", "as it was at *one* revision of TOOL_STORE")
    .addOption(new Option("--hidden").hideHelp())
    .addHelpText("after", "\nNeeds a store.\n");

  expect(commandReference(program).replace(/^[^]*?before the name of a command:\n/, "")).toBe(`
- \`--no-color\`: plain text

## store

\`tool store|s [options] [command]\`

Look after a store.

### store copy

\`tool store copy [options] <folder>\`

Copy all \\<files> of it.

- \`folder\`: where to

- \`--at <revision>\`: as it was at \\*one\\* revision of TOOL_STORE

\`\`\`text
Needs a store.
\`\`\`

## wait

\`tool wait [options]\`

Wait.
`);
});
