import type { StackStatus } from "@stackwright/client";
import type { CommandContext } from "../command-context.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { openServer, withServerErrors } from "../runs/open-server.ts";
import { printable } from "../terminal/printable.ts";

/** Options of the command that follows stacks. */
export interface WatchOptions {
  readonly server?: string;
  readonly project?: string;
  readonly once: boolean;
  readonly json: boolean;
}

/**
 * Writes the status of the stacks of a server, and then each change until the signal: a line for a stack, as text or as JSON with
 * `type` set or delete.
 */
export async function watch(options: WatchOptions, context: CommandContext): Promise<ExitCode> {
  const { terminal, signal } = context;
  const client = await openServer(context, options.server);
  const lineOf = (type: "set" | "delete", status: StackStatus): string =>
    `${options.json ? JSON.stringify({ type, ...status }) : textOf(type, status)}\n`;
  const known = new Map<string, { readonly status: StackStatus; readonly line: string }>();
  const remove = (id: string): void => {
    const found = known.get(id);
    if (found === undefined) return;
    known.delete(id);
    terminal.write(lineOf("delete", found.status));
  };
  const follow = async (): Promise<void> => {
    for await (const change of client.watchStacks({ signal })) {
      const set = change.set.filter(
        ({ project }) => options.project === undefined || project === options.project,
      );
      if (change.type === "snapshot") {
        const left = new Set(set.map(({ id }) => id));
        for (const id of known.keys()) if (!left.has(id)) remove(id);
      }
      for (const status of set.toSorted((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1))) {
        const line = lineOf("set", status);
        // A snapshot after a pause has what was written already, and not all that changes is in a line.
        if (known.get(status.id)?.line !== line) terminal.write(line);
        known.set(status.id, { status, line });
      }
      for (const id of change.delete) remove(id);
      if (options.once) break;
    }
  };
  return withServerErrors(client.server, async () => {
    try {
      await follow();
    } catch (error) {
      if (!signal.aborted || error !== signal.reason) throw error;
      // Nothing was to be done that is not done: how a user ends it.
      return EXIT.interrupted;
    }
    if (options.once && known.size === 0 && !options.json) {
      terminal.writeError("There are no stacks that this token may see.\n");
    }
    return EXIT.ok;
  });
}

function textOf(type: "set" | "delete", status: StackStatus): string {
  const { current, waiting, newest, lock, outdated } = status;
  const runText = ({ number, phase }: NonNullable<StackStatus["current"]>): string =>
    `${phase.replaceAll("_", " ")} (${number === 0 ? "a run of a command" : `run ${number}`})`;
  const last = newest === undefined ? "no runs" : `idle, last ${runText(newest)}`;
  const parts = [
    current === undefined ? last : runText(current),
    ...(waiting > 0 ? [`${waiting} waiting`] : []),
    ...(lock === undefined ? [] : [`locked by ${lock.actor}: ${lock.reason}`]),
    ...(outdated.length > 0 ? [`outdated by ${outdated.join(", ")}`] : []),
  ];
  return printable(`${nameOf(status)}: ${type === "delete" ? "deleted" : parts.join(", ")}`);
}

function nameOf({ project, name }: StackStatus): string {
  return `${project}/${name}`;
}
