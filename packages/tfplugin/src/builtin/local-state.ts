import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { Type } from "@stackwright/cty";
import {
  DEFAULT_WORKSPACE,
  type RemoteStateBackend,
  type RemoteStateBackendSettings,
  textSetting,
} from "./remote-state-backend.ts";

export interface LocalStateOptions {
  /** What relative paths are relative to. @default the working directory of the process */
  readonly workingDirectory?: string;
  /**
   * Reads a file, or gives `undefined` where there is none. Takes the place of the file system where templates must not
   * reach it; `path` is as configured, with the workspace's part added, not made absolute.
   * @default the file system
   */
  readonly readFile?: (
    path: string,
    options: { signal?: AbortSignal },
  ) => Promise<Uint8Array | undefined>;
}

/**
 * State files on disk: `path` (`terraform.tfstate`) for the default workspace, and
 * `<workspace_dir>/<workspace>/terraform.tfstate` (`terraform.tfstate.d`) for the others.
 */
export function localStateBackend(options: LocalStateOptions = {}): RemoteStateBackend {
  const read = options.readFile ?? fileSystem(options.workingDirectory ?? ".");
  return {
    type: "local",
    settings: new Map([
      ["path", { type: Type.string, required: false }],
      ["workspace_dir", { type: Type.string, required: false }],
    ]),
    check: (settings) =>
      ["path", "workspace_dir"]
        .filter((name) => textSetting(settings, name) === "")
        .map((name) => `${name} must not be empty`)
        .at(0),
    read: async (settings, workspace, callOptions) =>
      read(pathOf(settings, workspace), callOptions),
  };
}

/** What stays as it is as one part of a URL's path. */
const WORKSPACE_NAME = /^[\w.~$&+=:@-]+$/u;

function pathOf(settings: RemoteStateBackendSettings, workspace: string): string {
  const file = "terraform.tfstate";
  if (workspace === DEFAULT_WORKSPACE) return textSetting(settings, "path") ?? file;
  // A name that leads out of the folder of workspaces is no name of a workspace.
  if (!WORKSPACE_NAME.test(workspace) || workspace === "." || workspace === "..") {
    throw new Error(`${JSON.stringify(workspace)} is not a name of a workspace`);
  }
  return join(textSetting(settings, "workspace_dir") ?? "terraform.tfstate.d", workspace, file);
}

function fileSystem(workingDirectory: string): NonNullable<LocalStateOptions["readFile"]> {
  return async (path, { signal }) => {
    try {
      return await readFile(resolve(workingDirectory, path), signal && { signal });
    } catch (error) {
      if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
      throw error;
    }
  };
}
