import { Argument, type Command } from "commander";
import type { EvictOptions } from "../commands/mirrored.ts";
import type { ProvidersLockOptions } from "../commands/providers-lock.ts";
import type { ProvidersMirrorOptions } from "../commands/providers-mirror.ts";
import type { QuarantineOptions, QuarantineServerOptions } from "../commands/quarantine.ts";
import type { ServerStackOptions } from "../runs/run-place.ts";
import type { StoreOptions } from "../session/session.ts";
import type { CommandAction, Define } from "./program.ts";
import { collect, withStoreOptions } from "./run-commands.ts";
import { withServerOptions } from "./server-run-commands.ts";

const REACTIONS = ["none", "notify", "plan", "inherit"] as const;

/** Commands that are about the providers of a configuration. */
export function defineProviderCommands(define: Define, run: CommandAction): void {
  const providers = define("providers", "which modules require which providers").action(
    async (_options: unknown, command: Command) => {
      const { providers: list } = await import("../commands/providers.ts");
      await run(command, async (context) => list(context));
    },
  );

  withStoreOptions(define("schema", "the schemas of all of them, as JSON", providers))
    .option("--json", "as JSON, which it is in any case", true)
    .action(async (options: StoreOptions, command: Command) => {
      const { providersSchema } = await import("../commands/providers.ts");
      await run(command, async (context) => providersSchema(options, context));
    });

  withStoreOptions(
    define(
      "explain [name]",
      "in words what they have, or what one type takes and gives",
      providers,
    ),
  ).action(async (name: string | undefined, options: StoreOptions, command: Command) => {
    const { providersExplain } = await import("../commands/providers-explain.ts");
    await run(command, async (context) => providersExplain(name, options, context));
  });

  withStoreOptions(
    define(
      "programs",
      "which program serves which type, of providers that are made of several",
      providers,
    ),
  ).action(async (options: StoreOptions, command: Command) => {
    const { providersPrograms } = await import("../commands/providers.ts");
    await run(command, async (context) => providersPrograms(options, context));
  });

  withServer(
    define(
      "quarantine <source> <version>",
      "offer a version of a mirrored provider of a server no longer",
      providers,
    ),
  )
    .option("--reason <text>", "reason, shown to those who ask for the version", "")
    .option("--lift", "offer it again", false)
    .action(
      async (source: string, version: string, options: QuarantineOptions, command: Command) => {
        const { providersQuarantine } = await import("../commands/quarantine.ts");
        const what = { source, version };
        await run(command, async (context) => providersQuarantine(what, options, context));
      },
    );

  withServer(
    define("quarantined", "list the versions of mirrored providers in quarantine", providers),
  ).action(async (options: QuarantineServerOptions, command: Command) => {
    const { providersQuarantined } = await import("../commands/quarantine.ts");
    await run(command, async (context) => providersQuarantined(options, context));
  });

  withServerOptions(
    define(
      "reaction",
      "show or say what follows for a stack of a server where a version of a provider that it uses changes",
      providers,
    ),
  )
    .addArgument(new Argument("[reaction]", "what is to follow").choices(REACTIONS))
    .action(
      async (
        reaction: (typeof REACTIONS)[number] | undefined,
        options: ServerStackOptions,
        command: Command,
      ) => {
        const { providerReaction } = await import("../commands/provider-reaction.ts");
        await run(command, async (context) => providerReaction(reaction, options, context));
      },
    );

  withServer(
    define("mirrored", "list the packages of mirrored providers that a server keeps", providers),
  ).action(async (options: QuarantineServerOptions, command: Command) => {
    const { providersMirrored } = await import("../commands/mirrored.ts");
    await run(command, async (context) => providersMirrored(options, context));
  });

  withServer(
    define(
      "evict [source] [version]",
      "drop packages of mirrored providers from the cache of a server",
      providers,
    ),
  )
    .option("--all", "all packages", false)
    .option("--to-mib <number>", "those not used for longest, until the rest has no more MiB")
    .action(
      async (
        source: string | undefined,
        version: string | undefined,
        options: EvictOptions,
        command: Command,
      ) => {
        const { providersEvict } = await import("../commands/mirrored.ts");
        const what = { source, version };
        await run(command, async (context) => providersEvict(what, options, context));
      },
    );

  withPlatforms(
    define(
      "lock [sources...]",
      "add the hashes of packages for further platforms to the lock file",
      providers,
    ),
  )
    .option("--fs-mirror <folder>", "from this folder instead of the registries")
    .option("--net-mirror <url>", "from this mirror instead of the registries")
    .action(async (sources: string[], options: ProvidersLockOptions, command: Command) => {
      const { providersLock } = await import("../commands/providers-lock.ts");
      await run(command, async (context) => providersLock(sources, options, context));
    });

  withPlatforms(
    define(
      "mirror <folder>",
      "copy the packages of all into a folder that can be a mirror",
      providers,
    ),
  )
    .option("--no-lock-file", "ignore the lock file and select the newest allowed versions")
    .action(async (folder: string, options: ProvidersMirrorOptions, command: Command) => {
      const { providersMirror } = await import("../commands/providers-mirror.ts");
      await run(command, async (context) => providersMirror(folder, options, context));
    });
}

function withPlatforms(command: Command): Command {
  return command.option(
    "--platform <os_arch>",
    "such as linux_amd64; may be given again (this machine's)",
    collect,
    [],
  );
}

function withServer(command: Command): Command {
  return command
    .option("--server <url>", "address of the server (STACKWRIGHT_SERVER, the last login)")
    .option("--json", "JSON instead of text", false);
}
