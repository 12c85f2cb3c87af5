import { selectedWorkspace } from "@stackwright/core";
import type { WorkspaceReport } from "../adoption/adopt-workspace.ts";
import { type AdoptWorkspacesOptions, adoptWorkspaces } from "../adoption/adopt-workspaces.ts";
import { reportExitCode, reportJson, workspaceText } from "../adoption/adoption-report.ts";
import { givenState } from "../adoption/given-state.ts";
import type { CommandContext } from "../command-context.ts";
import { CommandError } from "../command-error.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { planText } from "../render/plan-text.ts";
import { decrypted } from "../session/old-backend.ts";
import { loadProject, requireConfiguration } from "../session/project.ts";
import { detectFor } from "../session/require-adopted.ts";
import { stackName } from "../session/stack-name.ts";

export interface AdoptRootOptions extends Omit<AdoptWorkspacesOptions, "old"> {
  readonly yes: boolean;
  /** What is done with the old state: `fence` or `none`. */
  readonly old: string;
}

/** Adopts the workspaces of the configuration of a directory, or a state that is given as a file. */
export async function adoptRoot(
  file: string | undefined,
  options: AdoptRootOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const { terminal } = context;
  const old = oldTreatment(options.old);
  const selected = selectedWorkspace(context)?.name ?? "default";
  const named = options.workspace.length === 1 ? options.workspace[0] : undefined;
  // The variable names one stack: that of the selected workspace.
  const oneStack = context.env["STACKWRIGHT_STACK"] ?? "";
  const isOne = file !== undefined || (oneStack !== "" && options.workspace.length === 0);
  const single = isOne ? (named ?? selected) : named;
  if (options.stack !== undefined && single === undefined) {
    throw new CommandError("--stack names one stack, and all workspaces would be adopted.", {
      advice: "Name one with --workspace NAME.",
    });
  }
  const root = await adoptWorkspaces(
    { ...options, old, workspace: isOne ? [single ?? selected] : options.workspace },
    context,
    {
      directory: ".",
      stackOf: (workspace) =>
        workspace === single && (options.stack !== undefined || oneStack !== "")
          ? stackName(context, options)
          : workspace,
      ...(file !== undefined && {
        open: async (project) =>
          decrypted(await givenState(file, single ?? selected, context), project, context.env),
      }),
      ...(!options.yes && { approve: async (report) => ask(report, options, context) }),
    },
  );
  if (options.json) terminal.write(reportJson([root]));
  else if (root.problem !== undefined) throw new CommandError(root.problem);
  else {
    for (const report of root.workspaces) {
      if (report.verdict === "changes" && report.plan !== undefined) {
        const schemaOf = () => undefined;
        terminal.write(planText(report.plan, { style: terminal.style, schemaOf }));
      }
      terminal.write(workspaceText(report));
    }
    if (root.workspaces.every(({ verdict }) => verdict === "none")) {
      const project = await loadProject(context);
      requireConfiguration(project);
      const { verdict } = detectFor(project, options, context);
      terminal.write(
        verdict === "none"
          ? "Nothing to adopt: this configuration has no Terraform state.\n"
          : "If the configuration never had a state: stackwright adopt --fresh\n",
      );
      return verdict === "none" ? EXIT.ok : EXIT.failed;
    }
  }
  return reportExitCode([root]);
}

/** The value of `--old`. */
export function oldTreatment(text: string): "fence" | "none" {
  if (text === "fence" || text === "none") return text;
  throw new CommandError(`"${text}" is not a valid value of --old: use fence or none.`);
}

async function ask(
  report: WorkspaceReport,
  { json }: Pick<AdoptRootOptions, "json">,
  { terminal, signal }: CommandContext,
): Promise<boolean> {
  if (!terminal.interactive || json) {
    throw new CommandError("An adoption needs an approval. Run it in a terminal, or with --yes.");
  }
  terminal.write(workspaceText(report));
  const question = `\n${terminal.style.paint("strong", "Adopt it?")} Only "yes" is taken as a yes: `;
  return (await terminal.ask(question, { signal }))?.trim() === "yes";
}
