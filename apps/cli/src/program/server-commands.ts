import {
  parseServeArguments,
  serveOptionLines,
  serveVariableWarnings,
  workerOptionLines,
} from "@stackwright/engine/options";
import type { Command } from "commander";
import type { CommandProcess } from "../command-context.ts";
import { commandVersion } from "../command-version.ts";
import type { AuditOptions } from "../commands/audit.ts";
import type { AuditWebhookOptions, AuditWebhookSettings } from "../commands/audit-webhooks.ts";
import type { FunctionsServeOptions } from "../commands/functions-serve.ts";
import { withListenErrors } from "../session/listen-error.ts";
import { defineDoctor } from "./admin-commands.ts";
import { openingStore } from "./opening-store.ts";
import type { CommandAction, Define } from "./program.ts";

const WORKER_HELP = `
The token comes from the running server: stackwright tokens create --role worker. With --project web the worker executes runs of this
project alone, with --pool inside those of this pool. The server needs --storage-port; with --executor none it executes no runs itself.
SIGTERM drains the worker, a second signal ends it at once.
`;

const EXECUTE_HELP = `
A worker with --executor container or kubernetes starts this in each container; it is of no use by hand.
`;

const AUDIT_HELP = `
Needs the role admin of the account. Entries come in the order of their sequence, so that --after with that of the last line misses none:
stackwright server audit --after "$(tail -n 1 trail.ndjson | jq -r .sequence)" >> trail.ndjson
`;

const AUDIT_WEBHOOK_HELP = `
Needs the role admin of the account. A receiver gets all entries that are kept, in the order of their sequence, and each at least once.
`;

/** Commands that run until they are stopped. */
export function defineServerCommands(
  define: Define,
  run: CommandAction,
  { forceSignal }: Pick<CommandProcess, "forceSignal">,
): void {
  define("serve", "run the server: runs of stacks, registry, storage service")
    .allowUnknownOption()
    .allowExcessArguments()
    .addHelpText("after", () => `\nOptions of the server:\n${serveOptionLines()}`)
    .option("--options", "list the options of the server", false)
    .action(async ({ options: list }: { options: boolean }, command: Command) => {
      const { serve } = await import("@stackwright/engine");
      await run(command, async ({ terminal, env, directory, signal }) => {
        if (list) {
          terminal.write(serveOptionLines());
          return 0;
        }
        for (const warning of serveVariableWarnings(env)) {
          terminal.writeError(`Warning: ${warning}\n`);
        }
        const options = await parseServeArguments(command.args, env, directory);
        await using server = await openingStore(async () =>
          withListenErrors(async () =>
            serve(options, { signal, env, directory, version: commandVersion() }),
          ),
        );
        terminal.writeError(`The server is at ${server.url}\n`);
        if (server.storageAddress !== undefined) {
          terminal.writeError(`The store is at ${server.storageAddress}\n`);
        }
        await Promise.race([server.stopped, aborted(forceSignal)]);
        return 0;
      });
    });

  define("worker", "execute runs of a server on this machine")
    .allowUnknownOption()
    .allowExcessArguments()
    .usage("--server URL [options]")
    .addHelpText("after", () => `\n${workerOptionLines()}${WORKER_HELP}`)
    .action(async (_options: unknown, command: Command) => {
      const { runWorkerCommand } = await import("@stackwright/engine");
      await run(command, async ({ terminal, env, directory, signal }) => {
        const onStart = (server: string) =>
          terminal.writeError(`The worker executes runs of ${server}\n`);
        const work = runWorkerCommand(command.args, { env, directory, signal, onStart });
        await Promise.race([work, aborted(forceSignal)]);
        return 0;
      });
    });

  define("execute", "execute one step of a run that a worker gives")
    .allowUnknownOption()
    .allowExcessArguments()
    .usage("")
    .addHelpText("after", EXECUTE_HELP)
    .action(async (_options: unknown, command: Command) => {
      const { runExecuteCommand } = await import("@stackwright/engine");
      await run(command, async ({ env, signal }) =>
        runExecuteCommand(command.args, { env, signal }),
      );
    });

  const server = define("server", "look after a server");
  defineDoctor("doctor", server, define, run, { hidden: true });
  define("audit", "write the audit trail of the account as JSON lines", server)
    .option("--server <url>", "address of the server; without it that of the last login")
    .option("--after <sequence>", "only what follows an entry")
    .addHelpText("after", AUDIT_HELP)
    .action(async (options: AuditOptions, command: Command) => {
      const { auditExport } = await import("../commands/audit.ts");
      await run(command, async (context) => auditExport(options, context));
    });

  const webhooks = define(
    "audit-webhooks",
    "send the audit trail of the account to other programs",
    server,
  ).addHelpText("after", AUDIT_WEBHOOK_HELP);
  withServer(define("list", "list the webhooks, and how far each is", webhooks)).action(
    async (options: AuditWebhookOptions, command: Command) => {
      const { auditWebhooksList } = await import("../commands/audit-webhooks.ts");
      await run(command, async (context) => auditWebhooksList(options, context));
    },
  );
  withServer(define("set <name>", "create a webhook, or change one", webhooks))
    .option("--url <url>", "the address that is called")
    .option("--url-file <file>", "file with it")
    .option("--after <sequence>", "of a new one: only what follows an entry")
    .option("--pause", "send nothing", false)
    .option("--resume", "send again, from where it was paused", false)
    .option("--new-secret", "make a new secret; the former one also signs for 24 hours", false)
    .action(async (name: string, options: AuditWebhookSettings, command: Command) => {
      const { auditWebhooksSet } = await import("../commands/audit-webhooks.ts");
      await run(command, async (context) => auditWebhooksSet(name, options, context));
    });
  withServer(define("delete <name>", "delete a webhook", webhooks)).action(
    async (name: string, options: AuditWebhookOptions, command: Command) => {
      const { auditWebhooksDelete } = await import("../commands/audit-webhooks.ts");
      await run(command, async (context) => auditWebhooksDelete(name, options, context));
    },
  );
  withServer(define("test <name>", "send a test, and say how that went", webhooks)).action(
    async (name: string, options: AuditWebhookOptions, command: Command) => {
      const { auditWebhooksTest } = await import("../commands/audit-webhooks.ts");
      await run(command, async (context) => auditWebhooksTest(name, options, context));
    },
  );

  const functions = define("functions", "run functions locally, for development and tests");
  define("serve <file>", "run the functions of a file", functions)
    .option(
      "--host <address>",
      "address to listen on; others than this machine need accounts",
      "127.0.0.1",
    )
    .option("--port <port>", "port of HTTP", "9000")
    .option("--no-watch", "do not redeploy functions when files change")
    .action(async (file: string, options: FunctionsServeOptions, command: Command) => {
      const { functionsServe } = await import("../commands/functions-serve.ts");
      await run(command, async (context) => functionsServe(file, options, context));
    });
}

async function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((done) => {
    if (signal.aborted) done();
    else signal.addEventListener("abort", () => done(), { once: true });
  });
}

function withServer(command: Command): Command {
  return command
    .option("--server <url>", "address of the server; without it that of the last login")
    .option("--json", "write JSON", false);
}
