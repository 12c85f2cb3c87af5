import { randomInt } from "node:crypto";
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import type { Value } from "@stackwright/cty";
import { copyToHost, writeRemoteFile } from "./copy-files.ts";
import { type ProvisionerContext, textOf, textsOf } from "./provisioner-runner.ts";
import type { SshSession } from "./ssh-session.ts";

const SHEBANG = "#!/bin/sh\n";
/** Scripts may contain secrets, and what other users could change must not be executed. */
const EXECUTABLE = 0o700;

/** Copies the file, folder or text of a `file` provisioner to the host. */
export async function copyFile(
  config: Value,
  session: SshSession,
  directory: string,
): Promise<void> {
  const destination = textOf(config, "destination") ?? "";
  const content = textOf(config, "content");
  const sftp = await session.sftp();
  if (content !== undefined) {
    await writeRemoteFile(sftp, destination, content);
    return;
  }
  const source = textOf(config, "source") ?? "";
  const ending = /[/\\]$/.test(source) ? "/" : "";
  await copyToHost(sftp, resolve(directory, source) + ending, destination);
}

/** Runs the scripts of a `remote-exec` provisioner one after the other; each is stored on the host first. */
export async function runRemoteScripts(
  config: Value,
  session: SshSession,
  options: { readonly directory: string; readonly scriptPath: string },
  { onOutput, room }: Pick<ProvisionerContext, "onOutput" | "room">,
): Promise<void> {
  for (const script of await scriptsOf(config, options.directory)) {
    const path = options.scriptPath.replaceAll("%RAND%", String(randomInt(1_000_000_000)));
    const sftp = await session.sftp();
    await writeRemoteFile(sftp, path, script, EXECUTABLE);
    const status = await session.execute(quoted(path), onOutput, room);
    await new Promise<void>((done) => {
      sftp.unlink(path, () => done());
    });
    sftp.end();
    if (status !== 0) {
      throw new Error(`error executing "${path}": process exited with status ${status}`);
    }
  }
}

async function scriptsOf(config: Value, directory: string): Promise<readonly string[]> {
  const inline = textsOf(config, "inline");
  if (inline !== undefined) {
    const text = inline.map((line) => `${line}\n`).join("");
    return [text.startsWith("#!") ? text : SHEBANG + text];
  }
  const one = textOf(config, "script");
  const paths = one === undefined ? (textsOf(config, "scripts") ?? []) : [one];
  return Promise.all(
    paths.map(async (path) => {
      try {
        return await readFile(resolve(directory, path), "utf8");
      } catch (error) {
        const problem = error instanceof Error ? error.message : String(error);
        throw new Error(`the script "${path}" cannot be read: ${problem}`, { cause: error });
      }
    }),
  );
}

/** A path as one word of the shell of the host. */
function quoted(path: string): string {
  return /^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
}
