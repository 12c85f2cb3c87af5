import { resolve } from "node:path";
import type { NewRun, Run } from "@stackwright/client";
import type { CommandContext } from "../command-context.ts";
import { CommandError } from "../command-error.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { attendRun } from "../runs/attend-run.ts";
import { ensureStack } from "../runs/ensure-stack.ts";
import { withServerErrors } from "../runs/open-server.ts";
import { packWithModules } from "../runs/pack-configuration.ts";
import {
  findRun,
  openServerStack,
  type ServerStack,
  type ServerStackOptions,
} from "../runs/run-place.ts";
import { humanRunView, jsonRunView } from "../runs/run-view.ts";
import { withheldNote } from "../runs/withheld-note.ts";

export interface RunsStartOptions extends ServerStackOptions {
  /** A folder above the configuration, of which all is uploaded. */
  readonly root?: string;
  readonly message?: string;
  /** What a plan is of: a newer one of the same ends those that wait. */
  readonly source?: string;
  readonly yes: boolean;
  readonly destroy: boolean;
  readonly planOnly: boolean;
  readonly refreshOnly: boolean;
  readonly staged?: boolean;
  readonly target: readonly string[];
  readonly replace: readonly string[];
  /** Each as `ADDRESS=ID`. */
  readonly import?: readonly string[];
  readonly detach: boolean;
}

/** Packs a folder, uploads it, requests a run and follows it to its end. */
export async function runsStart(
  folder: string | undefined,
  options: RunsStartOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const mode = modeOf(options);
  if (options.source !== undefined && mode !== "plan_only") {
    throw new CommandError("--source goes with --plan-only.", {
      advice:
        "A newer plan of the same source ends those that wait; runs that apply wait for one another.",
    });
  }
  if (options.staged === true && mode !== "apply") {
    throw new CommandError("--staged goes with a run that applies its configuration.", {
      advice: "Leave out --destroy, --plan-only and --refresh-only, or --staged.",
    });
  }
  const server = await openServerStack(options, context);
  const { client, place } = server;
  const { signal } = context;
  const directory = resolve(context.directory, folder ?? ".");
  const above = options.root === undefined ? undefined : resolve(context.directory, options.root);
  const packed = await packWithModules(directory, above, signal);
  if (packed.withheld.length > 0) context.terminal.writeError(withheldNote(packed.withheld));
  return withServerErrors(client.server, async () => {
    await ensureStack(server, options.json);
    // An hour, as the server allows it.
    const { data: configuration } = await client.createConfiguration(
      { ...place, body: packed.content, ...(packed.root !== "" && { root: packed.root }) },
      { signal, timeoutMs: 3_600_000 },
    );
    const body: NewRun = {
      configuration: configuration.digest,
      mode,
      auto_apply: options.yes,
      ...(options.staged === true && { staged: true }),
      ...(options.message !== undefined && { message: options.message }),
      ...(options.source !== undefined && { source: options.source }),
      ...(options.target.length > 0 && { targets: options.target }),
      ...(mode === "import" && { imports: (options.import ?? []).map(importOf) }),
      ...(options.replace.length > 0 && { replace: options.replace }),
    };
    const { data: run } = await client.createRun({ ...place, body }, { signal });
    return requested(server, options, run);
  });
}

/** Reads `ADDRESS=ID`; a key of the address may have a sign of its own, as in `a.b["x=y"]`. */
function importOf(text: string): { readonly address: string; readonly id: string } {
  const [, address, id] = /^((?:"[^"]*"|[^="])+)=(.+)$/s.exec(text) ?? [];
  if (address !== undefined && id !== undefined) return { address, id };
  throw new CommandError(`"${text}" names no object to import.`, {
    advice: "Use --import ADDRESS=ID, for example --import 'aws_vpc.main=vpc-1'.",
  });
}

/** Requests a run again that did not apply all of its plan: the same configuration and options, with a new plan. */
export async function runsRetry(
  text: string | undefined,
  options: ServerStackOptions & Pick<RunsStartOptions, "yes" | "detach">,
  context: CommandContext,
): Promise<ExitCode> {
  const server = await openServerStack(options, context);
  return withServerErrors(server.client.server, async () => {
    const { client, place } = server;
    const { id } = await findRun(server, text);
    const { data: run } = await client.retryRun(
      { ...place, run: id, body: { auto_apply: options.yes } },
      { signal: context.signal },
    );
    return requested(server, options, run);
  });
}

function modeOf({
  destroy,
  planOnly,
  refreshOnly,
  import: imports = [],
}: RunsStartOptions): NonNullable<NewRun["mode"]> {
  const imported = imports.length > 0;
  if ([destroy, planOnly, refreshOnly, imported].filter(Boolean).length > 1) {
    throw new CommandError(
      "--destroy, --plan-only, --refresh-only and --import exclude one another.",
    );
  }
  if (imported) return "import";
  if (destroy) return "destroy";
  if (planOnly) return "plan_only";
  return refreshOnly ? "refresh_only" : "apply";
}

/** Shows the run that was requested, and follows it. */
async function requested(
  server: ServerStack,
  { json, yes, detach }: Pick<RunsStartOptions, "json" | "yes" | "detach">,
  run: Run,
): Promise<ExitCode> {
  const { place, context } = server;
  const { terminal } = context;
  if (json && detach) terminal.write(`${JSON.stringify(run)}\n`);
  if (!json) {
    terminal.write(`Run ${run.number} of ${place.project}/${place.stack} (${run.id})\n`);
  }
  if (detach) return EXIT.ok;
  for (let current = run; ; ) {
    const code = await attend(server, current, json, !yes);
    const { signal } = context;
    if (code !== EXIT.ok || current.stage === undefined) return code;
    const { data: ended } = await server.client.showRun({ ...place, run: current.id }, { signal });
    const { next, left = [] } = ended.stage ?? {};
    if (next === undefined) {
      if (ended.phase !== "applied" || left.length === 0) return code;
      throw new CommandError(`Some parts are left: ${ended.reason ?? "no run follows"}.`);
    }
    const { data: following } = await server.client.showRun({ ...place, run: next }, { signal });
    current = following;
    if (!json) {
      const { number = 0 } = current.stage ?? {};
      terminal.write(`\nStage ${number}: run ${current.number} (${current.id})\n`);
    }
  }
}

async function attend(
  server: ServerStack,
  run: Run,
  json: boolean,
  asks: boolean,
): Promise<ExitCode> {
  const { terminal } = server.context;
  const view = json ? jsonRunView(terminal) : humanRunView(terminal, run);
  // The caller requested it, and is not asked what only others may answer.
  const others = asks && run.exclude_author && run.mode !== "plan_only";
  if (others && !json) terminal.write("Its plan is approved by another person.\n");
  return attendRun({ ...server, run, view, asks: asks && !json && !others });
}
