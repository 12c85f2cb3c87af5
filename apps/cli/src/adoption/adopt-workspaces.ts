import { existsSync } from "node:fs";
import { join } from "node:path";
import { selectedWorkspace } from "@stackwright/core";
import type { StateBackend } from "@stackwright/tfstate/backend";
import type { CommandContext } from "../command-context.ts";
import { type OldBackendOptions, openOldBackend } from "../session/old-backend.ts";
import { loadProject, type Project, type VariableInput } from "../session/project.ts";
import {
  type AdoptWorkspaceOptions,
  adoptWorkspace,
  type WorkspaceReport,
} from "./adopt-workspace.ts";

export interface AdoptWorkspacesOptions
  extends Omit<AdoptWorkspaceOptions, "approve">,
    OldBackendOptions {
  /** Only these. @default that of `TF_WORKSPACE`, else all that have a state */
  readonly workspace: readonly string[];
}

/** What became of one root module. */
export interface RootReport {
  /** Directory as it was named. */
  readonly directory: string;
  /** Type of the backend; empty where it is not known. */
  readonly backend: string;
  readonly workspaces: readonly WorkspaceReport[];
  /** Why nothing was read. */
  readonly problem?: string;
}

/** Adopts all workspaces of one root module, one after the other. Failures are part of the report. */
export async function adoptWorkspaces(
  options: AdoptWorkspacesOptions,
  context: CommandContext,
  {
    directory,
    stackOf,
    open,
    approve,
  }: {
    readonly directory: string;
    readonly stackOf: (workspace: string) => string;
    readonly open?: (project: Project) => Promise<StateBackend>;
    readonly approve?: AdoptWorkspaceOptions["approve"];
  },
): Promise<RootReport> {
  let type = "";
  try {
    const project = await loadProject(context, undefined, { inputs: options.inputs });
    await using backend =
      open === undefined ? await openOldBackend(project, options, context) : await open(project);
    type = backend.type;
    const names = await workspacesOf(backend, options, context);
    const reports: WorkspaceReport[] = [];
    for (const workspace of names) {
      context.signal.throwIfAborted();
      const inputs = [...variableFiles(workspace, options.inputs, context), ...options.inputs];
      // The stack of a workspace is planned with its name, regardless of the selected workspace.
      const own = { ...context, env: { ...context.env, TF_WORKSPACE: "", STACKWRIGHT_STACK: "" } };
      const report = await adoptWorkspace({
        project,
        backend,
        workspace,
        stack: stackOf(workspace),
        options: { ...options, inputs, ...(approve !== undefined && { approve }) },
        context: own,
      });
      reports.push(report);
    }
    return { directory, backend: type, workspaces: reports };
  } catch (error) {
    if (context.signal.aborted) throw error;
    const problem = error instanceof Error ? error.message : String(error);
    return { directory, backend: type, workspaces: [], problem };
  }
}

async function workspacesOf(
  backend: StateBackend,
  { workspace: named }: AdoptWorkspacesOptions,
  context: CommandContext,
): Promise<readonly string[]> {
  if (named.length > 0) return named;
  const selected = selectedWorkspace(context);
  if (selected?.by === "TF_WORKSPACE") return [selected.name];
  const found = await backend.workspaces({ signal: context.signal });
  return found.filter((name) => !name.includes(".adopted-"));
}

/** Where repositories keep the values of one workspace. */
const PATTERNS = [
  "W.tfvars",
  "env/W.tfvars",
  "envs/W.tfvars",
  "environments/W.tfvars",
  "vars/W.tfvars",
  "tfvars/W.tfvars",
  "config/W.tfvars",
  "W/terraform.tfvars",
];

/** The backend names workspaces: such a name must not lead out of the folders above. */
const FILE_NAME = /^(?!\.{1,2}$)[\w.~$&+:=@-]+$/;

/** The file of values that belongs to a workspace by its name; none where the user named files. */
function variableFiles(
  workspace: string,
  given: readonly VariableInput[],
  { directory }: CommandContext,
): VariableInput[] {
  if (given.some(({ kind }) => kind === "file") || !FILE_NAME.test(workspace)) return [];
  const names = PATTERNS.map((pattern) => pattern.replace("W", () => workspace));
  const path = names.find((name) => existsSync(join(directory, name)));
  return path === undefined ? [] : [{ kind: "file", path }];
}
