import { type Command, Option } from "commander";
import type { UpOptions } from "../commands/up.ts";
import type { VariableInput } from "../session/project.ts";
import type { PlanningOptions } from "../session/run-options.ts";
import type { CommandAction, Define } from "./program.ts";

/** Options as commander gives them: values of variables are collected in the order in which they were given. */
interface Parsed extends Omit<PlanningOptions, "inputs"> {
  readonly inputs?: unknown;
  readonly out?: string;
  readonly generateConfigOut?: string;
  readonly detailedExitcode: boolean;
  readonly yes: boolean;
  readonly autoApprove: boolean;
}

/** Commands that plan and apply. */
export function defineRunCommands(define: Define, run: CommandAction): void {
  const plan = withRunOptions(define("plan", "show what would be done"));
  const planInputs = withInputs(plan);
  plan
    .option("--destroy", "plan the destruction of all objects of the stack", false)
    .option("--out <file>", "save the plan, to apply exactly this one")
    .option(
      "--generate-config-out <file>",
      "write resource blocks for import blocks that have none",
    )
    .option("--compare <command>", "plan with terraform or tofu too, and show differences")
    .option("--detailed-exitcode", "exit code 2 where there are changes", false)
    .addOption(
      new Option("--watch", "plan again whenever a file changes")
        .default(false)
        .conflicts(["destroy", "out", "generateConfigOut", "compare", "detailedExitcode"]),
    )
    .action(async (parsed: Parsed & { readonly watch: boolean }, command: Command) => {
      const options = { ...parsed, inputs: planInputs() };
      if (parsed.watch) {
        const { planWatch } = await import("../commands/plan-watch.ts");
        await run(command, async (context) => planWatch(options, context));
        return;
      }
      const { plan: planCommand } = await import("../commands/plan.ts");
      await run(command, async (context) => planCommand(options, context));
    });

  const up = withApproval(
    withRunOptions(define("up [plan]", "plan, ask, and apply; or apply a plan that was kept")),
  );
  up.alias("apply");
  const upInputs = withInputs(up);
  up.option("--destroy", "destroy everything", false).action(
    async (file: string | undefined, parsed: Parsed, command: Command) => {
      await runUp(command, file, { ...parsed, inputs: upInputs() });
    },
  );

  const destroy = withApproval(
    withRunOptions(define("destroy", "destroy everything that the stack has")),
  );
  const destroyInputs = withInputs(destroy);
  destroy.action(async (parsed: Parsed, command: Command) => {
    await runUp(command, undefined, { ...parsed, inputs: destroyInputs(), destroy: true });
  });

  const refresh = withApproval(
    withRunOptions(define("refresh", "refresh the state from the real objects")),
  );
  const refreshInputs = withInputs(refresh);
  refresh.action(async (parsed: Parsed, command: Command) => {
    const options = { ...parsed, inputs: refreshInputs(), destroy: false, refreshOnly: true };
    await runUp(command, undefined, options, "unasked");
  });

  const importing = withApproval(
    withRunOptions(
      define("import <address> <id>", "plan and record an object that exists already"),
    ),
  );
  const importInputs = withInputs(importing);
  importing.action(async (address: string, id: string, parsed: Parsed, command: Command) => {
    const { importBlock } = await import("../session/import-block.ts");
    const object = importBlock(address, id);
    const options = { ...parsed, inputs: importInputs(), destroy: false, importing: object };
    const targeted = { ...options, target: [object.address] };
    await runUp(command, undefined, targeted, "unasked");
  });

  async function runUp(
    command: Command,
    file: string | undefined,
    parsed: Omit<Parsed, "inputs"> & Pick<UpOptions, "inputs" | "importing">,
    reference: "asks" | "unasked" = "asks",
  ): Promise<void> {
    const { up: upCommand } = await import("../commands/up.ts");
    await run(command, async (context) => {
      // Under the name of the reference command only what that asks is asked.
      const unasked = reference === "unasked" && context.calledAs !== "stackwright";
      const options = { ...parsed, yes: parsed.yes || parsed.autoApprove || unasked };
      return upCommand(file, options, context);
    });
  }
}

/**
 * Options of all commands that use a store.
 *
 * @param lockTimeout what `--lock-timeout` is for the command where it is not given
 * @param isOfStack whether the command is about one stack
 */
export function withStoreOptions(
  command: Command,
  lockTimeout = "0s",
  isOfStack: boolean = true,
): Command {
  command.option(
    "--store <address>",
    "where the state is: sqlite:, postgres:, etcd:, stackwright: (STACKWRIGHT_STORE)",
  );
  if (isOfStack) {
    command.option(
      "--stack <name>",
      "which stack (STACKWRIGHT_STACK, TF_WORKSPACE, the selected workspace)",
    );
  }
  return command
    .option("--project <name>", "which project the stack is in (STACKWRIGHT_PROJECT)")
    .option(
      "--lock-timeout <duration>",
      `how long to wait for another writer, such as 30s or 5m (default: ${lockTimeout})`,
    )
    .option(
      "--registry <url>",
      "where private providers are registered; without it, in the store (STACKWRIGHT_REGISTRY)",
    );
}

export function withRunOptions(command: Command): Command {
  return withStoreOptions(command)
    .option(
      "--target <address>",
      "only this and what it depends on; may be given again",
      collect,
      [],
    )
    .option(
      "--exclude <address>",
      "all but this and what depends on it; may be given again",
      collect,
      [],
    )
    .option("--target-file <file>", "targets from a file, one a line", collect, [])
    .option("--exclude-file <file>", "what to leave out from a file, one a line", collect, [])
    .option("--replace <address>", "replace this instance; may be given again", collect, [])
    .option("--staged", "leave what cannot be planned yet to a later stage", false)
    .option("--no-refresh", "take the recorded state as it is")
    .option("--refresh-age <duration>", "skip objects refreshed within this time")
    .option(
      "--pure-provider <source>",
      "ask this provider for no plan of what has not changed; may be given again",
      collect,
      [],
    )
    .option("--refresh-only", "update the state only; plan no other changes", false)
    .option("--parallelism <n>", "how many things are done at the same time", "10")
    .option("--json", "lines of JSON instead of text", false)
    .option("--no-input", "ask for no values of variables")
    .option("--compact-warnings", "show only the summaries of warnings", false);
}

function withApproval(command: Command): Command {
  return command
    .option("-y, --yes", "do not ask", false)
    .addOption(new Option("--auto-approve", "do not ask").default(false).hideHelp());
}

/** `--var` and `--var-file` in one list: which comes later wins. */
export function withInputs(command: Command): () => readonly VariableInput[] {
  const inputs: VariableInput[] = [];
  command
    .option("--var <name=value>", "the value of a variable; may be given again", (text: string) => {
      inputs.push({ kind: "var", text });
    })
    .option("--var-file <file>", "a file of values; may be given again", (path: string) => {
      inputs.push({ kind: "file", path });
    });
  return () => inputs;
}

/** An option that may be given again. */
export function collect(value: string, former: readonly string[]): readonly string[] {
  return [...former, value];
}
