import type { ProviderReaction, ProviderReactionSettings } from "@stackwright/client";
import type { CommandContext } from "../command-context.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { withServerErrors } from "../runs/open-server.ts";
import { openServerStack, type ServerStackOptions } from "../runs/run-place.ts";
import { writeResult } from "../runs/write-result.ts";
import { printable } from "../terminal/printable.ts";

const TEXTS: Readonly<Record<ProviderReaction["reaction"], string>> = {
  none: "Nothing follows where a version of a provider of the stack changes; stackwright providers reaction notify changes that.",
  notify:
    "Where a version of a provider of the stack changes, it is noted and notifications are sent.",
  plan: "Where a version of a provider of the stack changes, notifications are sent and a plan is requested.",
};

/** Shows what follows for a stack where a version of a provider changes and what was noted, or says what is to follow. */
export async function providerReaction(
  reaction: ProviderReactionSettings["reaction"] | undefined,
  options: ServerStackOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const { client, place } = await openServerStack(options, context);
  const { signal } = context;
  return withServerErrors(client.server, async () => {
    const { data } =
      reaction === undefined
        ? await client.showProviderReaction(place, { signal })
        : await client.setProviderReaction({ ...place, body: { reaction } }, { signal });
    writeResult(context, options, data, textOf(data));
    return EXIT.ok;
  });
}

function textOf({ reaction, from, notices, problem }: ProviderReaction): string {
  const lines = [
    from === "project" ? `${TEXTS[reaction]} That is from the project.` : TEXTS[reaction],
    ...notices.map(({ provider, version, change, at, run }) => {
      const requested = run === undefined ? "" : `; the run ${run} was requested`;
      return `  ${provider} ${version} was ${change}, noted at ${at}${requested}`;
    }),
    ...(problem === undefined ? [] : [`Problem: ${problem}.`]),
  ];
  return lines.map(printable).join("\n");
}
