import { applyStateEdits } from "@stackwright/core";
import { ProviderAddress } from "@stackwright/provider-source";
import type { CommandContext } from "../command-context.ts";
import { CommandError } from "../command-error.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { refuseHandedBack } from "../session/handed-back.ts";
import { openWriter, type StoreOptions } from "../session/session.ts";
import { acquireStackLock } from "../session/stack-lock.ts";

export interface ReplaceProviderOptions extends StoreOptions {
  readonly autoApprove: boolean;
  readonly yes: boolean;
}

/** Records another provider for all objects of one. No provider is called. */
export async function replaceProvider(
  from: string,
  to: string,
  options: ReplaceProviderOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const { terminal, signal } = context;
  const [old, target] = [addressOf(from), addressOf(to)];
  await using session = await openWriter(context, options);
  refuseHandedBack(session.stack);
  const { head, objects } = await session.state.read({ signal });
  const found = [...objects.values()].filter(({ provider }) => provider.source === old);
  if (found.length === 0) {
    terminal.write("No matching objects found.\n");
    return EXIT.ok;
  }
  terminal.write(`Replace the provider ${old} with ${target} of\n\n`);
  for (const { address } of found) terminal.write(`  ${address}\n`);
  if (!options.autoApprove && !options.yes) {
    if (!terminal.interactive) {
      throw new CommandError("The replacement requires an approval.", {
        advice: "Run the command in a terminal, or with -auto-approve.",
      });
    }
    const answer = await terminal.ask('\nReplace the provider? Only "yes" is accepted: ', {
      signal,
    });
    if (answer?.trim() !== "yes") {
      terminal.write("Nothing was changed.\n");
      return EXIT.failed;
    }
  }
  await using hold = await acquireStackLock(session, options, context);
  const steps = found.map(({ address, deposed, provider }) => ({
    kind: "record" as const,
    key: { address, deposed },
    patch: { provider: { ...provider, source: target, version: "" } },
  }));
  const { id } = session.newRun();
  await applyStateEdits(hold, id, { baseRevision: head.revision, steps });
  terminal.write(`\nReplaced the provider of ${found.length} objects.\n`);
  return EXIT.ok;
}

function addressOf(text: string): string {
  try {
    return ProviderAddress.parse(text).toString();
  } catch (error) {
    throw new CommandError(`Invalid provider address: "${text}".`, {
      cause: error,
      advice: "Use [HOST/]NAMESPACE/NAME, for example hashicorp/null.",
    });
  }
}
