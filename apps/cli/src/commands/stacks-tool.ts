import type { Operations } from "@stackwright/client";
import type { CommandContext } from "../command-context.ts";
import { CommandError } from "../command-error.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { withServerErrors } from "../runs/open-server.ts";
import { openServerStack, type ServerStack, type ServerStackOptions } from "../runs/run-place.ts";

type ToolView = Operations["ShowStackTool"]["output"];
type ToolChange = NonNullable<Operations["SetStackTool"]["input"]["body"]>;

export interface StacksToolOptions extends ServerStackOptions {
  /** `NAME` or `NAME@VERSION`. */
  readonly set?: string;
  readonly shadow?: "on" | "off";
  readonly adoptAfter?: string;
}

/** Shows which tool plans and applies a stack of a server, or sets it. */
export async function stacksTool(
  options: StacksToolOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const body = changeOf(options);
  const server = await openServerStack(options, context);
  const { client, place } = server;
  const { signal } = context;
  return withServerErrors(client.server, async () => {
    const isChange = Object.keys(body).length > 0;
    const { data } = isChange
      ? await client.setStackTool({ ...place, body }, { signal })
      : await client.showStackTool(place, { signal });
    show(server, options, data);
    return EXIT.ok;
  });
}

/** Lets the engine plan and apply a stack of a server, once its plans were equal often enough. */
export async function stacksAdopt(
  options: ServerStackOptions & { readonly force: boolean },
  context: CommandContext,
): Promise<ExitCode> {
  const server = await openServerStack(options, context);
  const { client, place } = server;
  const { signal } = context;
  return withServerErrors(client.server, async () => {
    const { data: present } = await client.showStackTool(place, { signal });
    if (present.tool === "stackwright") {
      show(server, options, present);
      return EXIT.ok;
    }
    if (!present.can_adopt && !options.force) {
      const { equal_in_a_row: equal, adopt_after: after, shadow } = present;
      const why = shadow
        ? `${equal} of ${after} plans in a row were equal`
        : "its plans are not compared";
      throw new CommandError(
        `The stack "${place.project}/${place.stack}" is not adopted: ${why}.`,
        {
          advice: shadow
            ? "Check the latest run: stackwright runs show. Adopt it all the same with --force."
            : "Compare them first: stackwright stacks tool --shadow on. Adopt it all the same with --force.",
        },
      );
    }
    const body: ToolChange = { tool: "stackwright" };
    show(server, options, (await client.setStackTool({ ...place, body }, { signal })).data);
    return EXIT.ok;
  });
}

function changeOf({ set, shadow, adoptAfter }: StacksToolOptions): ToolChange {
  const [, name, version] =
    /^(stackwright|commands|terraform|tofu)(?:@(.+))?$/.exec(set ?? "") ?? [];
  if (set !== undefined && name === undefined) {
    throw new CommandError(`"${set}" is not a tool.`, {
      advice:
        "Use --set stackwright, commands, terraform, tofu, or one with a version: terraform@1.11.4",
    });
  }
  const after = adoptAfter === undefined ? undefined : Number(adoptAfter);
  if (after !== undefined && !(Number.isInteger(after) && after >= 1 && after <= 1_000)) {
    throw new CommandError("--adopt-after takes a whole number from 1 to 1000.");
  }
  return {
    ...(name !== undefined && {
      tool: name as NonNullable<ToolChange["tool"]>,
      version: version ?? "",
    }),
    ...(shadow !== undefined && { shadow: shadow === "on" }),
    ...(after !== undefined && { adopt_after: after }),
  };
}

function show({ place, context }: ServerStack, { json }: ServerStackOptions, view: ToolView): void {
  const { terminal } = context;
  if (json) {
    terminal.write(`${JSON.stringify(view, undefined, 2)}\n`);
    return;
  }
  const { tool, version, shadow, equal_in_a_row: equal, adopt_after: after, attention } = view;
  const program = tool === "commands" ? "terraform or tofu commands, where they run" : tool;
  const what = version === undefined ? program : `${program} ${version}`;
  terminal.write(
    `The stack "${place.project}/${place.stack}" is planned and applied by ${what}.\n`,
  );
  if (shadow) {
    terminal.write(
      `Its plans are compared with those of the engine: ${equal} of ${after} in a row were equal.\n`,
    );
  }
  if (view.can_adopt) {
    terminal.write(
      `The engine can take it over: stackwright stacks adopt --stack ${place.project}/${place.stack}\n`,
    );
  }
  if (attention !== undefined) {
    terminal.write(
      `The outcome of the apply of the run ${attention} is not known; compare the next plan with the real objects.\n`,
    );
  }
}
