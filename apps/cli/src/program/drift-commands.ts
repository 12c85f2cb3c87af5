import { type Command, Option } from "commander";
import type {
  DriftHeedOptions,
  DriftIgnoreOptions,
  DriftListOptions,
  DriftSetOptions,
  DriftShowOptions,
} from "../commands/drift.ts";
import type { DriftHookOptions } from "../commands/drift-hooks.ts";
import type { ServerProjectOptions, ServerStackOptions } from "../runs/run-place.ts";
import type { CommandAction, Define } from "./program.ts";
import { collect } from "./run-commands.ts";
import { withServerOptions } from "./server-run-commands.ts";

const CODE = "end with 2 where there is drift";
const REACTIONS = ["report", "plan", "repair", "accept"] as const;

/** Commands about the drift of the stacks of a server. */
export function defineDriftCommands(define: Define, run: CommandAction): void {
  const drift = define("drift", "find what was changed outside in the stacks of a server");

  define("list", "list the stacks of a server that have drift", drift)
    .option("--server <url>", "address of the server; without it that of the last login")
    .option("--project <name>", "stacks of this project only")
    .option("--limit <n>", "number of stacks", "100")
    .option("--detailed-exitcode", CODE, false)
    .option("--json", "write a JSON document", false)
    .action(async (options: DriftListOptions, command: Command) => {
      const { driftList } = await import("../commands/drift.ts");
      await run(command, async (context) => driftList(options, context));
    });

  withServerOptions(define("show", "show what the last check of a stack found", drift))
    .option("--detailed-exitcode", CODE, false)
    .action(async (options: DriftShowOptions, command: Command) => {
      const { driftShow } = await import("../commands/drift.ts");
      await run(command, async (context) => driftShow(options, context));
    });

  withServerOptions(define("check", "check a stack for drift now", drift))
    .option("--detailed-exitcode", CODE, false)
    .option("--detach", "end once the check is requested", false)
    .action(async (options: DriftShowOptions & { detach: boolean }, command: Command) => {
      const { driftCheck } = await import("../commands/drift.ts");
      await run(command, async (context) => driftCheck(options, context));
    });

  withServerOptions(define("set", "say when a stack is checked, and what follows", drift))
    .option("--every <time>", "time between two checks: 30m, 6h, 1d; as before, or 1d")
    .addOption(
      new Option(
        "--reaction <name>",
        "where drift is found: report it, request a plan that waits for approval, one that is applied, or a run that records it",
      ).choices(REACTIONS),
    )
    .option(
      "--part <types=time>",
      "check objects of some types more often, such as 'aws_iam_*=30m'; may be repeated, none takes all away",
      (text: string, former: readonly string[] | undefined) => [...(former ?? []), text],
    )
    .option("--paused", "check no more until it is set again", false)
    .action(async (options: DriftSetOptions, command: Command) => {
      const { driftSet } = await import("../commands/drift.ts");
      await run(command, async (context) => driftSet(options, context));
    });

  withServerOptions(
    define(
      "ignore <address...>",
      "ignore the drift of objects or of an attribute of them for a while, all or none",
      drift,
    ),
  )
    .option(
      "--attribute <name>",
      "this attribute alone; without it all that differs of the objects",
    )
    .requiredOption("--reason <text>", "why, which all users of the stack see")
    .requiredOption("--for <time>", "how long: 12h, 5d; at most 366d")
    .action(async (addresses: string[], options: DriftIgnoreOptions, command: Command) => {
      const { driftIgnore } = await import("../commands/drift.ts");
      await run(command, async (context) => driftIgnore(addresses, options, context));
    });

  withServerOptions(
    define(
      "heed <address>",
      "end that the drift of an object or of an attribute is ignored",
      drift,
    ),
  )
    .option("--attribute <name>", "of this attribute alone")
    .action(async (address: string, options: DriftHeedOptions, command: Command) => {
      const { driftHeed } = await import("../commands/drift.ts");
      await run(command, async (context) => driftHeed(address, options, context));
    });

  withServerOptions(
    define("unset", "take the rule of a stack away: that of its project counts", drift),
  ).action(async (options: ServerStackOptions, command: Command) => {
    const { driftUnset } = await import("../commands/drift.ts");
    await run(command, async (context) => driftUnset(options, context));
  });

  withProject(define("hook <name>", "let another system ask for checks, by signed webhooks", drift))
    .option(
      "--for <pattern>",
      "stacks that it may ask about; may be repeated, all by default",
      collect,
      [],
    )
    .action(async (name: string, options: DriftHookOptions, command: Command) => {
      const { driftHook } = await import("../commands/drift-hooks.ts");
      await run(command, async (context) => driftHook(name, options, context));
    });

  withProject(define("hooks", "list the hooks of a project", drift)).action(
    async (options: ServerProjectOptions, command: Command) => {
      const { driftHooks } = await import("../commands/drift-hooks.ts");
      await run(command, async (context) => driftHooks(options, context));
    },
  );

  withProject(
    define("unhook <name>", "delete a hook: its deliveries are refused from then on", drift),
  ).action(async (name: string, options: ServerProjectOptions, command: Command) => {
    const { driftUnhook } = await import("../commands/drift-hooks.ts");
    await run(command, async (context) => driftUnhook(name, options, context));
  });
}

function withProject(command: Command): Command {
  return command
    .option("--server <url>", "address of the server; without it that of the last login")
    .option("--project <name>", "the project; STACKWRIGHT_PROJECT, or default")
    .option("--json", "write JSON", false);
}
