import type { CommandContext } from "../command-context.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { openReader, type StoreOptions } from "../session/session.ts";
import { stackName } from "../session/stack-name.ts";

/** Lists the stacks of the project. */
export async function stacks(
  options: StoreOptions & { readonly json: boolean },
  context: CommandContext,
): Promise<ExitCode> {
  const { terminal } = context;
  const session = await openReader(context, options);
  try {
    const found = session === undefined ? [] : await session.stacks.list(session.project);
    const rows = await Promise.all(
      found.map(async (stack) => {
        const { revision, run } = (await session?.stateOf(stack).head()) ?? {
          revision: 0n,
          run: "",
        };
        return { stack, revision, run };
      }),
    );
    if (options.json) {
      const list = rows.map(({ stack, revision, run }) => ({
        name: stack.name,
        id: stack.reference.stack,
        revision: revision.toString(),
        ...(run !== "" && { run }),
        created: new Date(stack.createdAtMs).toISOString(),
      }));
      terminal.write(`${JSON.stringify(list, undefined, 2)}\n`);
      return EXIT.ok;
    }
    const current = stackName(context, options);
    const width = Math.max(0, ...rows.map(({ stack }) => stack.name.length));
    for (const { stack, revision, run } of rows) {
      const mark = stack.name === current ? "*" : " ";
      const busy = run === "" ? "" : "  (run in progress or interrupted)";
      terminal.write(`${mark} ${stack.name.padEnd(width)}  revision ${revision}${busy}\n`);
    }
    if (rows.length === 0) terminal.writeError("There are no stacks here yet: stackwright up\n");
    return EXIT.ok;
  } finally {
    await session?.[Symbol.asyncDispose]();
  }
}
