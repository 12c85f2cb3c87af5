import type { Command } from "commander";
import type { TestOptions } from "../commands/test.ts";
import { withTestDirectory } from "./module-commands.ts";
import type { CommandAction, Define } from "./program.ts";
import { collect, withInputs } from "./run-commands.ts";

/** The command that executes test files. */
export function defineTestCommand(define: Define, run: CommandAction): void {
  const test = withTestDirectory(
    define("test", "execute the test files (*.tftest.hcl, *.tofutest.hcl) of the configuration"),
  );
  const inputs = withInputs(test);
  test
    .option("--filter <file>", "only this test file; may be given again", collect, [])
    .option("--json", "lines of JSON instead of text", false)
    .option("--junit-xml <file>", "write a report in JUnit's form as well")
    .option("--verbose", "show the plan or the state of each run", false)
    .option("--parallelism <n>", "how many things are done at the same time", "10")
    .action(async (options: Omit<TestOptions, "inputs">, command: Command) => {
      const { test: testCommand } = await import("../commands/test.ts");
      await run(command, async (context) => testCommand({ ...options, inputs: inputs() }, context));
    });
}
