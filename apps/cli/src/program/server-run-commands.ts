import { Argument, type Command, Option } from "commander";
import type { FreezeOptions } from "../commands/runs-freeze.ts";
import type { ScheduleOptions } from "../commands/runs-schedules.ts";
import type { RunsStartOptions } from "../commands/runs-start.ts";
import type { TriggerOptions } from "../commands/runs-triggers.ts";
import type { SearchOptions } from "../commands/search.ts";
import type { WatchOptions } from "../commands/watch.ts";
import type { WhereUsedOptions } from "../commands/where-used.ts";
import type { ServerStackOptions } from "../runs/run-place.ts";
import type { CommandAction, Define } from "./program.ts";
import { collect } from "./run-commands.ts";

/** What `watch` follows. */
const TOPICS = ["stacks", "runs", "queue", "reactions", "registry", "resources"] as const;
/** What `where-used` is asked about. */
const USE_KINDS = ["provider", "module", "stack", "variable-set"] as const;

type Text = string | undefined;

/** Commands about the runs of a server. */
export function defineServerRunCommands(define: Define, run: CommandAction): void {
  define("watch", "follow the stacks, runs, queues or private providers of a server, or one stack")
    .option("--server <url>", "address of the server; without it that of the last login")
    .addOption(new Option("--topic <name>", "what is followed").choices(TOPICS).default("stacks"))
    .option("--project <name>", "what is of this project only")
    .option("--stack <name>", "STACK or PROJECT/STACK whose resources are followed")
    .option("--once", "write how things are, and end", false)
    .option("--json", "write a JSON object for each change", false)
    .action(async (options: WatchOptions, command: Command) => {
      const { watch } = await import("../commands/watch.ts");
      await run(command, async (context) => watch(options, context));
    });

  define("search [text]", "find resources in all stacks of a server by a part of their address")
    .option("--server <url>", "address of the server; without it that of the last login")
    .option("--type <type>", "resources of this type only")
    .option("--project <name>", "stacks of this project only")
    .option("--limit <n>", "number of resources", "100")
    .option("--json", "write a JSON document", false)
    .action(async (text: Text, options: SearchOptions, command: Command) => {
      const { search } = await import("../commands/search.ts");
      await run(command, async (context) => search(text ?? "", options, context));
    });

  define("where-used", "list the stacks of a server that use something")
    .addArgument(new Argument("<kind>", "what is asked about").choices(USE_KINDS))
    .argument(
      "<name>",
      "source address of a provider or a module, or the end of it; PROJECT/NAME of others",
    )
    .option("--server <url>", "address of the server; without it that of the last login")
    .option("--used-version <version>", "uses of this version of the provider or the module only")
    .option("--transitive", "also the stacks that depend on those that use it", false)
    .option("--json", "write a JSON document", false)
    .action(
      async (
        kind: (typeof USE_KINDS)[number],
        name: string,
        options: WhereUsedOptions,
        command: Command,
      ) => {
        const { whereUsed } = await import("../commands/where-used.ts");
        await run(command, async (context) => whereUsed(kind, name, options, context));
      },
    );

  const runs = define("runs", "request, show and decide runs on a server");

  withServerOptions(define("list", "list the runs of a stack, the newest first", runs))
    .option("--limit <n>", "number of runs", "20")
    .action(async (options: ServerStackOptions & { limit: string }, command: Command) => {
      const { runsList } = await import("../commands/runs-show.ts");
      await run(command, async (context) => runsList(options, context));
    });

  withServerOptions(
    define("show [run]", "show a run and its plan; without a run the latest", runs),
  ).action(async (id: Text, options: ServerStackOptions, command: Command) => {
    const { runsShow } = await import("../commands/runs-show.ts");
    await run(command, async (context) => runsShow(id, options, context));
  });

  withApproval(
    withServerOptions(define("start [folder]", "upload a folder, and plan and apply it", runs)),
  )
    .option("--root <folder>", "a folder above, of which all is uploaded (modules that are called)")
    .option("--message <text>", "message of the run")
    .option(
      "--source <text>",
      "with --plan-only: ends your waiting plans of the same, as of a branch",
    )
    .option("--destroy", "plan the deletion of all objects", false)
    .option("--plan-only", "plan, and apply nothing", false)
    .option("--refresh-only", "refresh all objects and update the state", false)
    .option("--staged", "leave what cannot be planned yet to further runs", false)
    .option("--target <address>", "only this and its dependencies; may be repeated", collect, [])
    .option("--replace <address>", "replace this instance; may be repeated", collect, [])
    .option(
      "--import <address=id>",
      "record this object that exists already, and do nothing else; may be repeated",
      collect,
      [],
    )
    .action(async (folder: Text, options: RunsStartOptions, command: Command) => {
      const { runsStart } = await import("../commands/runs-start.ts");
      await run(command, async (context) => runsStart(folder, approved(options), context));
    });

  withApproval(withServerOptions(define("retry [run]", "request a run again", runs))).action(
    async (id: Text, options: RunsStartOptions, command: Command) => {
      const { runsRetry } = await import("../commands/runs-start.ts");
      await run(command, async (context) => runsRetry(id, approved(options), context));
    },
  );

  withServerOptions(define("logs [run]", "show the events of a run", runs))
    .option("-f, --follow", "follow the run to its end", false)
    .action(
      async (id: Text, options: ServerStackOptions & { follow: boolean }, command: Command) => {
        const { runsLogs } = await import("../commands/runs-show.ts");
        await run(command, async (context) => runsLogs(id, options, context));
      },
    );

  withServerOptions(define("approve [run]", "show the plan of a run, ask, and approve it", runs))
    .option("-y, --yes", "do not ask", false)
    .option("--plan-digest <digest>", "approve the plan with this digest, without a question")
    .option("--comment <text>", "comment of the approval")
    .action(async (id: Text, options: ServerStackOptions & { yes: boolean }, command: Command) => {
      const { runsApprove } = await import("../commands/runs-decide.ts");
      await run(command, async (context) => runsApprove(id, options, context));
    });

  withServerOptions(define("discard [run]", "discard the plan of a run", runs))
    .option("--reason <text>", "reason, shown with the run")
    .action(async (id: Text, options: ServerStackOptions, command: Command) => {
      const { runsDiscard } = await import("../commands/runs-decide.ts");
      await run(command, async (context) => runsDiscard(id, options, context));
    });

  withServerOptions(define("lock", "lock a stack: its runs wait, and commands are refused", runs))
    .option("--reason <text>", "reason, shown to those who wait")
    .option("--expires <duration>", "end by itself after this time, such as 2h")
    .action(
      async (
        options: ServerStackOptions & { reason?: string; expires?: string },
        command: Command,
      ) => {
        const { runsLock } = await import("../commands/runs-lock.ts");
        await run(command, async (context) => runsLock(options, context));
      },
    );

  withServerOptions(define("unlock", "unlock a stack that was locked with runs lock", runs))
    .option("--force", "also the lock of another credential; for administrators", false)
    .action(async (options: ServerStackOptions & { force: boolean }, command: Command) => {
      const { runsUnlock } = await import("../commands/runs-lock.ts");
      await run(command, async (context) => runsUnlock(options, context));
    });

  withServerOptions(define("freeze", "freeze a stack: it is planned, and not applied", runs))
    .option("--whole-project", "all stacks of the project", false)
    .option("--reason <text>", "reason, shown to those who wait")
    .option("--expires <duration>", "end by itself after this time, such as 2h")
    .action(async (options: FreezeOptions, command: Command) => {
      const { runsFreeze } = await import("../commands/runs-freeze.ts");
      await run(command, async (context) => runsFreeze(options, context));
    });

  withServerOptions(define("unfreeze", "end the freeze of a stack or a project", runs))
    .option("--whole-project", "the freeze of the project", false)
    .action(async (options: FreezeOptions, command: Command) => {
      const { runsUnfreeze } = await import("../commands/runs-freeze.ts");
      await run(command, async (context) => runsUnfreeze(options, context));
    });

  withServerOptions(
    define("override-freeze <run>", "apply a run although its stack is frozen", runs),
  )
    .option("--reason <text>", "reason, shown with the run")
    .action(
      async (id: string, options: ServerStackOptions & { reason?: string }, command: Command) => {
        const { runsOverrideFreeze } = await import("../commands/runs-freeze.ts");
        await run(command, async (context) => runsOverrideFreeze(id, options, context));
      },
    );

  withServerOptions(
    define("schedules", "list the times at which runs of a stack are requested", runs),
  ).action(async (options: ServerStackOptions, command: Command) => {
    const { runsSchedules } = await import("../commands/runs-schedules.ts");
    await run(command, async (context) => runsSchedules(options, context));
  });

  withServerOptions(
    define("schedule [cron]", "request runs of what was applied last at certain times", runs),
  )
    .option("--zone <name>", "time zone of the times, such as Europe/Berlin; that of this machine")
    .option("--at <time>", "a single time, such as 2027-01-31T18:00:00Z")
    .option("--destroy", "plan the deletion of all objects", false)
    .option("--plan-only", "plan, and apply nothing", false)
    .option("--refresh-only", "refresh all objects and update the state", false)
    .option("--auto-approve", "apply the plans without an approval", false)
    .option("--message <text>", "message of the runs")
    .action(async (cron: Text, options: ScheduleOptions, command: Command) => {
      const { runsSchedule } = await import("../commands/runs-schedules.ts");
      await run(command, async (context) => runsSchedule(cron, options, context));
    });

  for (const [name, paused, what] of [
    ["pause-schedule", true, "request no runs by a schedule"],
    ["resume-schedule", false, "request runs by a paused schedule again"],
  ] as const) {
    withServerOptions(define(`${name} <schedule>`, what, runs)).action(
      async (id: string, options: ServerStackOptions, command: Command) => {
        const { runsPauseSchedule } = await import("../commands/runs-schedules.ts");
        await run(command, async (context) => runsPauseSchedule(id, paused, options, context));
      },
    );
  }

  withServerOptions(
    define("unschedule <schedule>", "delete a schedule; its runs stay", runs),
  ).action(async (id: string, options: ServerStackOptions, command: Command) => {
    const { runsUnschedule } = await import("../commands/runs-schedules.ts");
    await run(command, async (context) => runsUnschedule(id, options, context));
  });

  withServerOptions(
    define("triggers", "list the stacks whose outputs trigger runs of a stack", runs),
  ).action(async (options: ServerStackOptions, command: Command) => {
    const { runsTriggers } = await import("../commands/runs-triggers.ts");
    await run(command, async (context) => runsTriggers(options, context));
  });

  withServerOptions(
    define(
      "trigger <producer>",
      "request runs of what was applied last when the outputs of another stack have changed",
      runs,
    ),
  )
    .option("--plan-only", "plan, and apply nothing", false)
    .option("--refresh-only", "refresh all objects and update the state", false)
    .option("--auto-approve", "apply the plans without an approval", false)
    .option("--output <name>", "only changes of this output count; may be repeated", collect, [])
    .option("--message <text>", "message of the runs")
    .action(async (producer: string, options: TriggerOptions, command: Command) => {
      const { runsTrigger } = await import("../commands/runs-triggers.ts");
      await run(command, async (context) => runsTrigger(producer, options, context));
    });

  for (const [name, paused, what] of [
    ["pause-trigger", true, "request no runs by a trigger"],
    ["resume-trigger", false, "request runs by a paused trigger again"],
  ] as const) {
    withServerOptions(define(`${name} <trigger>`, what, runs)).action(
      async (id: string, options: ServerStackOptions, command: Command) => {
        const { runsPauseTrigger } = await import("../commands/runs-triggers.ts");
        await run(command, async (context) => runsPauseTrigger(id, paused, options, context));
      },
    );
  }

  withServerOptions(define("untrigger <trigger>", "delete a trigger; its runs stay", runs)).action(
    async (id: string, options: ServerStackOptions, command: Command) => {
      const { runsUntrigger } = await import("../commands/runs-triggers.ts");
      await run(command, async (context) => runsUntrigger(id, options, context));
    },
  );

  withServerOptions(define("cancel [run]", "cancel a run", runs))
    .option("--force", "end its executor at once; for administrators", false)
    .action(
      async (id: Text, options: ServerStackOptions & { force: boolean }, command: Command) => {
        const { runsCancel } = await import("../commands/runs-decide.ts");
        await run(command, async (context) => runsCancel(id, options, context));
      },
    );
}

/** Options of all commands about a stack on a server. */
export function withServerOptions(command: Command): Command {
  return command
    .option("--server <url>", "address of the server (STACKWRIGHT_SERVER, the last login)")
    .option("--stack <name>", "STACK or PROJECT/STACK (STACKWRIGHT_STACK)")
    .option("--project <name>", "project of the stack (STACKWRIGHT_PROJECT)")
    .option("--json", "JSON instead of text", false);
}

function withApproval(command: Command): Command {
  return command
    .option("-y, --yes", "apply the plan without an approval", false)
    .addOption(new Option("--auto-approve", "as --yes").default(false).hideHelp())
    .option("--detach", "end once the run is requested", false);
}

function approved(
  options: RunsStartOptions & { readonly autoApprove?: boolean },
): RunsStartOptions {
  return { ...options, yes: options.yes || options.autoApprove === true };
}
