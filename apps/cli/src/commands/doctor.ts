import type { Finding } from "@stackwright/client";
import type { CommandContext } from "../command-context.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { openServer, withServerErrors } from "../runs/open-server.ts";
import { printable } from "../terminal/printable.ts";

export interface DoctorOptions {
  readonly server?: string;
  /** Warnings count as well. */
  readonly strict: boolean;
  readonly json: boolean;
}

/** Says what is stuck on a server, why, and what to do. Ends with 2 where something needs somebody. */
export async function serverDoctor(
  { server, strict, json }: DoctorOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const { signal, terminal } = context;
  const client = await openServer(context, server);
  return withServerErrors(client.server, async () => {
    const { data } = await client.examine({}, { signal });
    const { findings, total } = data;
    if (json) terminal.write(`${JSON.stringify(data, undefined, 2)}\n`);
    else {
      for (const one of findings) terminal.write(textOf(one));
      if (findings.length < total) {
        terminal.writeError(`${total - findings.length} further findings are left out.\n`);
      }
      if (total === 0) terminal.write("Nothing is stuck.\n");
      if (!data.server) {
        terminal.writeError(
          "The server itself was not examined: that needs the role site-admin.\n",
        );
      }
    }
    const counts = findings.some(({ severity }) => strict || severity === "error");
    return counts ? EXIT.changes : EXIT.ok;
  });
}

function textOf({ code, severity, project, stack, run, since, detail, advice }: Finding): string {
  const place = [project, stack].filter((part) => part !== undefined).join("/");
  const where = [
    ...(place === "" ? [] : [place]),
    ...(run === undefined ? [] : [`run ${run}`]),
    ...(since === undefined ? [] : [`since ${since}`]),
  ].join(", ");
  const at = where === "" ? "" : ` (${where})`;
  return `${printable(`${severity} ${code}${at}: ${detail}`)}\n  ${printable(advice)}\n`;
}
