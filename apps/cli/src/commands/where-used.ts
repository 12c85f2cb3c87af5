import type { Operations } from "@stackwright/client";
import type { CommandContext } from "../command-context.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { openServer, withServerErrors } from "../runs/open-server.ts";
import { printable } from "../terminal/printable.ts";

/** Options of the command that lists uses. */
export interface WhereUsedOptions {
  readonly server?: string;
  readonly usedVersion?: string;
  readonly transitive: boolean;
  readonly json: boolean;
}

type StackUse = Operations["ListUses"]["output"]["uses"][number];

/** Writes the stacks that use a provider, a module, a variable set or the outputs of another stack. */
export async function whereUsed(
  kind: "provider" | "module" | "stack" | "variable-set",
  name: string,
  { server, usedVersion, transitive, json }: WhereUsedOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const client = await openServer(context, server);
  return withServerErrors(client.server, async () => {
    const query = {
      kind: kind === "variable-set" ? ("variable_set" as const) : kind,
      name,
      ...(usedVersion !== undefined && { version: usedVersion }),
      ...(transitive && { transitive: "true" as const }),
    };
    const { uses } = (await client.listUses(query, { signal: context.signal })).data;
    const text = uses.map((use) => `${printable(textOf(use))}\n`).join("");
    context.terminal.write(json ? `${JSON.stringify(uses, undefined, 2)}\n` : text);
    if (uses.length === 0 && !json) context.terminal.writeError("No stack uses it.\n");
    return EXIT.ok;
  });
}

function textOf({
  project,
  stack,
  version,
  constraints,
  resources,
  outputs,
  outdated,
  triggered,
  distance,
  through = [],
}: StackUse): string {
  const parts = [
    ...(version === undefined ? [] : [`version ${version === "" ? "built in" : version}`]),
    ...(constraints === undefined ? [] : [`asked for as ${constraints}`]),
    ...(resources === undefined
      ? []
      : [`${resources} ${resources === 1 ? "resource" : "resources"}`]),
    ...(outputs === undefined || outputs.length === 0 ? [] : [`reads ${outputs.join(", ")}`]),
    ...(outdated === true ? ["outdated"] : []),
    ...(triggered === true && distance === undefined ? ["triggered by it"] : []),
    ...(distance === undefined ? [] : [throughText(distance, through)]),
    ...(triggered === true && distance !== undefined ? ["triggered"] : []),
  ];
  return `${project}/${stack}${parts.length === 0 ? "" : `: ${parts.join(", ")}`}`;
}

function throughText(distance: number, through: NonNullable<StackUse["through"]>): string {
  const names = through.map(({ project, stack }) => `${project}/${stack}`);
  // Stacks that the caller may not see have no names.
  if (names.length === 0) return `through others, ${distance} away`;
  return `through ${names.join(", ")}${distance === 1 ? "" : `, ${distance} away`}`;
}
