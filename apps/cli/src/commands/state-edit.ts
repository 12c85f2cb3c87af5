import {
  applyStateEdits,
  planStateEdits,
  type StateEdit,
  type StateEditPlan,
} from "@stackwright/core";
import { createUlidGenerator } from "@stackwright/storage";
import type { CommandContext } from "../command-context.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { refuseHandedBack } from "../session/handed-back.ts";
import { openWriter, type StoreOptions } from "../session/session.ts";
import { acquireStackLock } from "../session/stack-lock.ts";
import type { Terminal } from "../terminal/terminal.ts";

export interface StateEditOptions extends StoreOptions {
  readonly yes: boolean;
  /** Show what would change, and change nothing. */
  readonly dryRun: boolean;
}

/** Changes what is recorded, without any call to a provider: shows what changes, asks, and writes it as one run. */
export async function stateEditCommand(
  edits: readonly StateEdit[],
  options: StateEditOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const { terminal, signal } = context;
  await using session = await openWriter(context, options);
  refuseHandedBack(session.stack);
  const plan = planStateEdits(await session.state.read({ signal }), edits);
  terminal.write(stateEditText(plan, terminal));
  if (options.dryRun || plan.steps.length === 0) return EXIT.ok;
  // A script is not asked, as by the reference command.
  if (!options.yes && terminal.interactive) {
    const answer = await terminal.ask(
      '\nChange the state like this? Only "yes" is taken as a yes: ',
      { signal },
    );
    if (answer?.trim() !== "yes") {
      terminal.write("Nothing was changed.\n");
      return EXIT.failed;
    }
  }
  await using hold = await acquireStackLock(session, options, context);
  const { revision } = await applyStateEdits(
    hold,
    createUlidGenerator({ wallMs: Date.now })(),
    plan,
  );
  terminal.write(`\nDone; the state is at revision ${revision}.\n`);
  return EXIT.ok;
}

function stateEditText({ changes, edits }: StateEditPlan, { style }: Terminal): string {
  if (changes.length === 0) return "Nothing would change.\n";
  const moves = edits.flatMap((edit) =>
    edit.kind === "move" ? [`  ${edit.from} becomes ${edit.to}\n`] : [],
  );
  const lines = changes.map(({ address, deposed, before, after, indirect }) => {
    const subject = deposed === "" ? address : `${address} (deposed ${deposed})`;
    if (before === undefined) return `  ${style.paint("create", "+")} ${subject}\n`;
    if (after === undefined)
      return `  ${style.paint("delete", "-")} ${subject} is removed from the state\n`;
    const what = indirect
      ? "what it depends on is called otherwise"
      : before.phase === after.phase
        ? "changes"
        : `${before.phase} becomes ${after.phase}`;
    return `  ${style.paint("update", "~")} ${subject}: ${what}\n`;
  });
  return [...moves, ...lines].join("");
}
