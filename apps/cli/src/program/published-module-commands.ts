import type { Command } from "commander";
import type { PublishedModuleOptions } from "../commands/published-modules.ts";
import type { CommandAction, Define } from "./program.ts";
import { withServer } from "./with-server.ts";

type Options = PublishedModuleOptions & {
  readonly from?: string;
  readonly archive?: string;
  readonly reason?: string;
};

/** Commands about the private modules of a server, below the one that lists those of a configuration. */
export function definePublishedModuleCommands(
  define: Define,
  run: CommandAction,
  modules: Command,
): void {
  withServer(
    define(
      "publish <module> <version> [folder]",
      "publish a version of NAMESPACE/NAME/SYSTEM on a server",
      modules,
    ),
  )
    .option("--from <source>", "what a source leads to, such as git::URL?ref=v1.2.0")
    .option("--archive <file>", "a gzip-compressed tar archive")
    .action(
      async (
        address: string,
        version: string,
        folder: string | undefined,
        options: Options,
        command: Command,
      ) => {
        const { modulesPublish } = await import("../commands/published-modules.ts");
        const published = { address, version, folder };
        await run(command, async (context) => modulesPublish(published, options, context));
      },
    );

  withServer(define("list", "list the private modules of a server", modules)).action(
    async (options: Options, command: Command) => {
      const { modulesList } = await import("../commands/published-modules.ts");
      await run(command, async (context) => modulesList(options, context));
    },
  );

  withServer(
    define("show <module> [version]", "show what a private module takes and gives", modules),
  ).action(
    async (address: string, version: string | undefined, options: Options, command: Command) => {
      const { modulesShow } = await import("../commands/published-modules.ts");
      await run(command, async (context) => modulesShow({ address, version }, options, context));
    },
  );

  withServer(
    define("withdraw <module> <version>", "offer a version of a private module no longer", modules),
  )
    .option("--reason <text>", "reason, shown with the version")
    .action(async (address: string, version: string, options: Options, command: Command) => {
      const { modulesWithdraw } = await import("../commands/published-modules.ts");
      await run(command, async (context) =>
        modulesWithdraw({ address, version }, options, context),
      );
    });
}
