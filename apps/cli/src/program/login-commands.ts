import type { Command } from "commander";
import { CommandError } from "../command-error.ts";
import type { CommandAction, Define } from "./program.ts";

interface LoginOptions {
  readonly server?: string;
  readonly browser?: boolean;
  readonly device?: boolean;
  readonly role?: string;
  readonly caFile?: string;
}

/** Commands about the credentials of the user. */
export function defineLoginCommands(define: Define, run: CommandAction): void {
  define("login [host]", "store a token of a registry host, or of a server")
    .option("--server <url>", "address of the server, such as https://HOST")
    .option("--browser", "agree in a browser that is signed in, in place of typing a token", false)
    .option("--device", "agree in a browser of another machine, with a code", false)
    .option(
      "--ca-file <file>",
      "authority of the server's certificate, in PEM, trusted from then on",
    )
    .option("--role <role>", "with --device: the most that the token may do, such as planner")
    .action(async (host: string | undefined, options: LoginOptions, command: Command) => {
      const { server, browser, device, role, caFile } = options;
      if (host !== undefined && server === undefined) {
        if (device === true || role !== undefined) {
          throw new CommandError("A registry host gives no token with --device or --role.", {
            advice: "Name a server with --server URL, or use login HOST alone.",
          });
        }
        if (caFile !== undefined) {
          throw new CommandError("--ca-file is for a server.", {
            advice:
              "Name the server with --server URL, or the authority of a host by SSL_CERT_FILE.",
          });
        }
        const { login } = await import("../commands/login.ts");
        await run(command, async (context) => login(host, context));
        return;
      }
      if (server === undefined) {
        throw new CommandError("Neither a host nor a server is named.", {
          advice:
            "Use --server URL, for example --server https://stackwright.example.com, or login HOST for a registry.",
        });
      }
      const { serverLogin } = await import("../commands/server-login.ts");
      await run(command, async (context) =>
        serverLogin({ server, browser, device, role, caFile }, context),
      );
    });
  define("logout [host]", "remove the stored token of a host, or of a server")
    .option("--server <url>", "address of the server; without it that of the last login")
    .action(async (host: string | undefined, options: LoginOptions, command: Command) => {
      if (host !== undefined && options.server === undefined) {
        const { logout } = await import("../commands/login.ts");
        await run(command, async (context) => logout(host, context));
        return;
      }
      const { serverLogout } = await import("../commands/server-login.ts");
      await run(command, async (context) => serverLogout(options, context));
    });
}
