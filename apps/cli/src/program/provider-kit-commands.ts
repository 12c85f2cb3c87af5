import type { Command } from "commander";
import type { ProviderDevOptions } from "../commands/provider-dev.ts";
import type { ProviderPackageOptions } from "../commands/provider-package.ts";
import type { ProviderPublishOptions } from "../commands/provider-publish.ts";
import type { ProviderTestOptions } from "../commands/provider-test.ts";
import type {
  ProviderDeprecateOptions,
  ProviderVersionOptions,
} from "../commands/provider-versions.ts";
import type { CommandAction, Define } from "./program.ts";
import { collect } from "./run-commands.ts";

/** Commands for those who write a provider. */
export function defineProviderKitCommands(define: Define, run: CommandAction): void {
  const provider = define(
    "provider",
    "write a provider: a new project, a trial, tests, packaging, publishing",
  );

  define(
    "new <source> [folder]",
    "make the project of a provider, by its name or its source HOST/NAMESPACE/NAME",
    provider,
  ).action(
    async (source: string, folder: string | undefined, _options: unknown, command: Command) => {
      const { providerNew } = await import("../commands/provider-new.ts");
      await run(command, async (context) => providerNew({ source, folder }, context));
    },
  );

  define("dev", "keep the provider of the folder running for templates, with reload", provider)
    .option("--no-watch", "do not start it again when its code changes")
    .option("--inspect [port]", "lets debuggers of Node in, at this port or a free one")
    .option("--function [file]", "as the HTTP function that it is too (functions.json)")
    .action(async (options: ProviderDevOptions, command: Command) => {
      const { providerDev } = await import("../commands/provider-dev.ts");
      await run(command, async (context) => providerDev(options, context));
    });

  define(
    "test [program...]",
    "check what engines rely on: the provider of the folder, a program with its arguments, or the URL of a function",
    provider,
  )
    .option("--samples <file>", "JSON with settings and configurations that may be created")
    .option("--pulumi", "the program speaks Pulumi's protocol", false)
    .option("--timeout <seconds>", "how long one call may take", "30")
    .option("--json", "the report as JSON", false)
    .action(async (program: string[], options: ProviderTestOptions, command: Command) => {
      const { providerTest } = await import("../commands/provider-test.ts");
      await run(command, async (context) => providerTest(program, options, context));
    });

  define(
    "package [program]",
    "make the archive of a function or of a Pulumi plug-in: of the provider of the folder, or of a program",
    provider,
  )
    .option("--for <platform>", "a function: functiongraph, functiongraph-event or container")
    .option("--pulumi", "a plug-in of Pulumi: an archive for each platform", false)
    .option(
      "--platform <os_arch>",
      "of a plug-in, such as linux_amd64; may be given again (a script: linux and darwin; a binary: this machine's)",
      collect,
      [],
    )
    .option(
      "--out <path>",
      "the file of a function (dist/NAME-VERSION-PLATFORM.zip), the folder of plug-ins (dist)",
    )
    .option("--version <version>", "another version than that of package.json")
    .option("--env <name>", "hand this variable on to the program; may be given again", collect, [])
    .option("--no-start", "do not start what was packed: the archive then has no schema")
    .action(
      async (program: string | undefined, options: ProviderPackageOptions, command: Command) => {
        const { providerPackage } = await import("../commands/provider-package.ts");
        await run(command, async (context) => providerPackage(program, options, context));
      },
    );

  define(
    "publish",
    "publish the provider of the folder on a server: its program, or the function that it is",
    provider,
  )
    .option("--server <url>", "address of the server (STACKWRIGHT_SERVER, the last login)")
    .option("--version <version>", "another version than that of package.json")
    .option(
      "--claim",
      "claim the namespace where it is not your account's yet, without a question",
      false,
    )
    .option("--function <urn>", "the function that the provider is, in place of a program")
    .option(
      "--platform <os_arch>",
      "such as linux_amd64; may be given again (a script: linux and darwin; a binary: this machine's)",
      collect,
      [],
    )
    .option("--protocols <list>", "versions of the protocol", "5.0,6.0")
    .action(async (options: ProviderPublishOptions, command: Command) => {
      const { providerPublish } = await import("../commands/provider-publish.ts");
      await run(command, async (context) => providerPublish(options, context));
    });

  define(
    "deprecate <provider> <version>",
    "warn of a version of a published provider NAMESPACE/TYPE",
    provider,
  )
    .option("--server <url>", "address of the server (STACKWRIGHT_SERVER, the last login)")
    .option("--reason <text>", "what users are shown, such as which version to take")
    .option("--clear", "end the deprecation", false)
    .action(
      async (
        provider: string,
        version: string,
        options: ProviderDeprecateOptions,
        command: Command,
      ) => {
        const { providerDeprecate } = await import("../commands/provider-versions.ts");
        await run(command, async (context) =>
          providerDeprecate({ provider, version }, options, context),
        );
      },
    );

  define(
    "withdraw <provider> <version>",
    "offer a version of a published provider NAMESPACE/TYPE no longer",
    provider,
  )
    .option("--server <url>", "address of the server (STACKWRIGHT_SERVER, the last login)")
    .action(
      async (
        provider: string,
        version: string,
        options: ProviderVersionOptions,
        command: Command,
      ) => {
        const { providerWithdraw } = await import("../commands/provider-versions.ts");
        await run(command, async (context) =>
          providerWithdraw({ provider, version }, options, context),
        );
      },
    );

  define(
    "delete <name> <version>",
    "delete a version of a private provider that is a function",
    provider,
  )
    .option("--server <url>", "address of the server (STACKWRIGHT_SERVER, the last login)")
    .action(
      async (name: string, version: string, options: ProviderVersionOptions, command: Command) => {
        const { providerDelete } = await import("../commands/provider-versions.ts");
        await run(command, async (context) =>
          providerDelete({ provider: name, version }, options, context),
        );
      },
    );
}
