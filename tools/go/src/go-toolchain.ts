import { execFile } from "node:child_process";
import type { BuildFailure } from "./build-failure.ts";

/** The Go that builds one tool. */
export interface GoToolchain {
  readonly command: string;
  /** For example `go1.26.8`; `go env` names the one that the module's `toolchain` line selects. */
  readonly version: string;
  /** For example `linux/amd64`. */
  readonly platform: string;
}

/**
 * Asks the `go` command, from inside the module's folder, which toolchain and platform it builds
 * with. Resolves to a failure with reason `no-go` where there is none.
 */
export async function findGo(
  folder: string,
  env: NodeJS.ProcessEnv,
  command = "go",
): Promise<GoToolchain | BuildFailure> {
  const { error, stdout, stderr } = await output(command, ["env", "GOVERSION", "GOOS", "GOARCH"], {
    cwd: folder,
    env: goEnvironment(env),
  });
  const [version, os, arch] = stdout.split("\n").map((line) => line.trim());
  if (error === undefined && version && os && arch) {
    return { command, version, platform: `${os}/${arch}` };
  }
  if (error?.code === "ENOENT") {
    return { reason: "no-go", message: `Go is not installed: no "${command}" on PATH`, output: "" };
  }
  return {
    reason: "no-go",
    message: `"${command} env" does not work here: ${stderr.trim().split("\n").at(-1) ?? ""}`,
    output: stderr,
  };
}

/** Ours decide how a tool is built; the user's Go settings about proxy, cache and toolchain stay. */
export function goEnvironment(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return { ...env, CGO_ENABLED: "0", GO111MODULE: "on", GOFLAGS: "-mod=readonly", GOWORK: "off" };
}

function output(
  command: string,
  args: readonly string[],
  options: { readonly cwd: string; readonly env: NodeJS.ProcessEnv },
): Promise<{ error: NodeJS.ErrnoException | undefined; stdout: string; stderr: string }> {
  return new Promise((resolve) => {
    // A `toolchain` line can make this download a Go, hence minutes and not seconds.
    execFile(command, args, { ...options, timeout: 180_000 }, (error, stdout, stderr) => {
      resolve({ error: (error as NodeJS.ErrnoException | null) ?? undefined, stdout, stderr });
    });
  });
}
