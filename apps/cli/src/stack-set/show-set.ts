import type { Diagnostic } from "@stackwright/lang";
import type { CommandContext } from "../command-context.ts";
import { HumanRenderer } from "../render/human-renderer.ts";
import { showDiagnostics } from "../render/show-diagnostics.ts";
import { schemasOf } from "../session/schemas-of.ts";
import type { SetOptions, StackPlan } from "./plan-stacks.ts";
import type { SetFolder } from "./set-folders.ts";
import { headOf } from "./set-head.ts";

type Shown = Pick<SetOptions, "compactWarnings">;

/** Shows the plans of a set, in the order in which they are applied. */
export async function showSet(
  plans: readonly StackPlan[],
  { terminal }: CommandContext,
  options: Shown,
): Promise<void> {
  for (const { member, made, engine, diagnostics } of plans) {
    terminal.write(headOf(member, terminal));
    using view = new HumanRenderer(terminal, options);
    view.diagnostics(diagnostics);
    view.planned(made.plan, await schemasOf(engine, made.plan));
  }
}

/** Shows why stacks of a set have no plan. */
export function showFailures(
  failed: ReadonlyMap<SetFolder, readonly Diagnostic[]>,
  { terminal }: CommandContext,
  options: Shown,
): void {
  for (const [member, diagnostics] of failed) {
    terminal.writeError(headOf(member, terminal));
    showDiagnostics(terminal, diagnostics, options);
  }
}
