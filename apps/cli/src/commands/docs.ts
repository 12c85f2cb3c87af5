import { serveHelp } from "@stackwright/engine";
import type { CommandContext } from "../command-context.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { portOf, withListenErrors } from "../session/listen-error.ts";

export interface DocsOptions {
  readonly port: string;
}

/** Serves the documentation of this release to browsers of this machine until it is stopped. */
export async function docs(
  { port }: DocsOptions,
  { terminal, signal }: CommandContext,
): Promise<ExitCode> {
  await using server = await withListenErrors(async () => serveHelp(portOf(port)));
  terminal.write(`The documentation is at ${server.url}\nCtrl-C ends it.\n`);
  await new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
  return EXIT.ok;
}
