import { resolve } from "node:path";
import type { SecretDisplay, StackSnapshot } from "@stackwright/core";
import { configurationSchemas, planToTerraformJson } from "@stackwright/core";
import type { CommandContext } from "../command-context.ts";
import { CommandError } from "../command-error.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { outputsText } from "../render/human-renderer.ts";
import { objectText, type StateDisplay } from "../render/object-text.ts";
import { inputLines, planText } from "../render/plan-text.ts";
import { ShownState } from "../render/shown-state.ts";
import { stateJson } from "../render/state-json.ts";
import type { ViewForm } from "../render/view-forms.ts";
import { viewText } from "../render/view-text.ts";
import { omitSecrets } from "../session/omit-secrets.ts";
import { openEngine } from "../session/open-engine.ts";
import { planNotFoundError, readPlanFile } from "../session/plan-file.ts";
import { loadProject } from "../session/project.ts";
import { readOnlyState } from "../session/read-only-state.ts";
import { recordedSchemas } from "../session/recorded-schemas.ts";
import { requireAdoptedToRead } from "../session/require-adopted.ts";
import { schemasOf } from "../session/schemas-of.ts";
import { openReader, type Session, type StoreOptions } from "../session/session.ts";
import { isForeignPlan, snapshotOfFile } from "../session/state-file.ts";
import type { Terminal } from "../terminal/terminal.ts";

export interface ShowOptions extends StoreOptions, SecretOptions {
  readonly json: boolean;
  /** A plan for a decision, in this form. */
  readonly view?: ViewForm;
  /** The same as the form `page`. */
  readonly html?: boolean;
}

/** The explicit flag for secrets. */
export interface SecretOptions {
  readonly showSecrets: boolean;
}

export function secretDisplay({ showSecrets }: SecretOptions): SecretDisplay {
  return showSecrets ? "shown" : "hidden";
}

/** Shows the recorded state, or the plan of a file. */
export async function show(
  planFile: string | undefined,
  given: ShowOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const options = withPage(given);
  const { terminal } = context;
  if (options.view !== undefined) requirePlan(planFile, options);
  const foreign = planFile === undefined ? undefined : await snapshotOfFile(planFile, context);
  if (planFile !== undefined && foreign === undefined) return showPlan(planFile, options, context);
  const session = await openReader(context, options, omitSecrets(options, context));
  try {
    if (foreign === undefined) await requireAdoptedToRead(session, options, context);
    const snapshot = foreign ?? (await snapshotOf(session, context));
    const project = await loadProject(context);
    const schemaOf = await recordedSchemas(snapshot.objects.values(), project, context);
    const shown = new ShownState(snapshot, { schemaOf, secrets: secretDisplay(options) });
    if (options.json) terminal.write(`${stateJson(snapshot, shown)}\n`);
    else terminal.write(stateText(snapshot, terminal, { shown, schemaOf }));
    return EXIT.ok;
  } finally {
    await session?.[Symbol.asyncDispose]();
  }
}

function withPage(options: ShowOptions): ShowOptions {
  if (options.html !== true) return options;
  if (options.view !== undefined) {
    throw new CommandError("--html and --view cannot be used together.");
  }
  return { ...options, view: "page" };
}

/** A view is made of a plan, and never holds a secret. */
function requirePlan(planFile: string | undefined, options: ShowOptions): void {
  const option = options.html === true ? "--html" : "--view";
  if (planFile === undefined) {
    throw new CommandError(`${option} shows a plan; name the file that plan --out wrote.`);
  }
  if (options.json || options.showSecrets) {
    const other = options.json ? "--json" : "--show-secrets";
    throw new CommandError(`${option} and ${other} cannot be used together.`);
  }
}

/** The state of the stack that is meant; empty where there is none. */
export async function snapshotOf(
  session: Session | undefined,
  { signal }: Pick<CommandContext, "signal">,
): Promise<StackSnapshot> {
  const state = session?.stack === undefined ? undefined : session.stateOf(session.stack);
  return readOnlyState(state).read({ signal });
}

async function showPlan(
  planFile: string,
  options: ShowOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const { terminal } = context;
  if (await isForeignPlan(planFile, context)) {
    throw new CommandError(`"${planFile}" was made by "terraform plan".`, {
      advice: 'Create a plan with "stackwright plan --out FILE".',
    });
  }
  const file = await readPlanFile(resolve(context.directory, planFile));
  const session = await openReader(context, {
    ...options,
    stack: file.stack,
    project: file.project,
  });
  try {
    const project = await loadProject(context);
    await using engine = await openEngine(project, context, {
      session,
      registry: options.registry,
      remembersDigests: true,
    });
    const plan =
      session?.stack === undefined
        ? undefined
        : await engine.loadPlan(session.stateOf(session.stack), file.digest);
    if (plan === undefined) {
      throw planNotFoundError(planFile, file, session?.storeName);
    }
    if (options.view !== undefined) {
      const { color } = terminal.style;
      terminal.write(
        viewText(plan, options.view, {
          planDigest: file.digest,
          color,
          title: `${file.project}/${file.stack}`,
        }),
      );
    } else if (options.json) {
      const { configuration } = project;
      // What the folder holds by now may be another configuration than that of the plan.
      const described =
        configuration.digest === plan.configDigest
          ? {
              configuration,
              schemas: await configurationSchemas(configuration, plan, engine.catalog),
            }
          : undefined;
      const secrets = secretDisplay(options);
      terminal.write(`${planToTerraformJson(plan, { described, secrets })}\n`);
    } else {
      const schemaOf = await schemasOf(engine, plan);
      terminal.write(
        planText(plan, {
          style: terminal.style,
          schemaOf,
          secrets: secretDisplay(options),
        }),
      );
    }
    return EXIT.ok;
  } finally {
    await session?.[Symbol.asyncDispose]();
  }
}

function stateText(snapshot: StackSnapshot, terminal: Terminal, display: StateDisplay): string {
  const objects = [...snapshot.objects.values()].toSorted((left, right) =>
    left.address < right.address ? -1 : Number(left.address > right.address),
  );
  if (objects.length === 0 && snapshot.outputs.size === 0) return "Nothing is recorded.\n";
  const texts = objects.map((object) => objectText(object, terminal, display));
  const outputs = outputsText(snapshot.outputs, display.shown.hiddenOutputs(snapshot.outputs));
  const inputs = inputLines(snapshot.inputs ?? []);
  return [
    ...texts,
    ...(outputs === "" ? [] : [`Outputs:\n\n${outputs}`]),
    ...(inputs.length === 0
      ? []
      : [`Made with outputs of other stacks:\n\n${inputs.join("\n")}\n`]),
  ].join("\n");
}
