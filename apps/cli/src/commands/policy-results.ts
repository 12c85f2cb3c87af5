import type { CommandContext } from "../command-context.ts";
import { CommandError } from "../command-error.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { verdictLines } from "../render/policy-text.ts";
import { withServerErrors } from "../runs/open-server.ts";
import { findRun, openServerStack, type ServerStackOptions } from "../runs/run-place.ts";
import { phaseText } from "../runs/run-text.ts";
import { writeResult } from "../runs/write-result.ts";
import { printable } from "../terminal/printable.ts";

/** Shows what policies said about the plan of a run. */
export async function policyResults(
  text: string | undefined,
  options: ServerStackOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const found = await openServerStack(options, context);
  const { client, place } = found;
  const { signal, terminal } = context;
  return withServerErrors(client.server, async () => {
    const run = await findRun(found, text);
    const { data } = await client.showPolicyResults({ ...place, run: run.id }, { signal });
    const { sets, override } = data;
    const lines = sets.flatMap((one) =>
      verdictLines(`${printable(one.set)} (${one.enforcement})`, one, terminal.style),
    );
    if (sets.length === 0) lines.push(`No policies judged the plan of run ${run.number}.`);
    if (override !== undefined) {
      lines.push(`Overridden by ${printable(override.actor)}: ${printable(override.reason)}`);
    }
    writeResult(context, options, data, lines.join("\n"));
    return EXIT.ok;
  });
}

/** Lets the plan of a run pass although overridable policies forbid it. */
export async function policyOverride(
  text: string | undefined,
  options: ServerStackOptions & { readonly reason?: string; readonly planDigest?: string },
  context: CommandContext,
): Promise<ExitCode> {
  const { reason } = options;
  if (reason === undefined || reason === "") {
    throw new CommandError("An override needs a reason, which is shown to other users.", {
      advice: 'Say it with --reason "accepted until the bucket is moved".',
    });
  }
  const found = await openServerStack(options, context);
  const { client, place } = found;
  return withServerErrors(client.server, async () => {
    const run = await findRun(found, text);
    const digest = options.planDigest ?? run.plan_digest;
    if (digest === undefined) {
      throw new CommandError(`${phaseText(run.number, run.phase)} and has no plan.`);
    }
    const body = { reason, plan_digest: digest };
    const { signal } = context;
    const { data } = await client.overridePolicies({ ...place, run: run.id, body }, { signal });
    writeResult(context, options, data, `${phaseText(data.number, data.phase)}.`);
    return EXIT.ok;
  });
}
