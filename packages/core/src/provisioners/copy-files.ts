import { readdir, readFile, stat } from "node:fs/promises";
import { basename, join, posix } from "node:path";
import type { SFTPWrapper } from "ssh2";

/** Stores a text or bytes as a file of the host. */
export async function writeRemoteFile(
  sftp: SFTPWrapper,
  path: string,
  content: string | Buffer,
  mode?: number,
): Promise<void> {
  const bytes = typeof content === "string" ? Buffer.from(content) : content;
  await called(path, (done) =>
    sftp.writeFile(path, bytes, mode === undefined ? {} : { mode }, done),
  );
  // The mask of the server applies to new files.
  if (mode !== undefined) await called(path, (done) => sftp.chmod(path, mode, done));
}

/**
 * Copies a file or a folder to the host. Of a folder whose name ends in a slash the contents are copied, otherwise the
 * folder itself into the destination.
 */
export async function copyToHost(
  sftp: SFTPWrapper,
  source: string,
  destination: string,
): Promise<void> {
  const found = await stat(source).catch((error: unknown) => {
    throw new Error(`the source "${source}" cannot be read: ${messageOf(error)}`, { cause: error });
  });
  if (found.isDirectory()) {
    const target = /[/\\]$/.test(source) ? destination : posix.join(destination, basename(source));
    await copyFolder(sftp, source, target);
    return;
  }
  const target = (await isFolder(sftp, destination))
    ? posix.join(destination, basename(source))
    : destination;
  await writeRemoteFile(sftp, target, await readFile(source), found.mode & 0o777);
}

async function copyFolder(sftp: SFTPWrapper, source: string, target: string): Promise<void> {
  await makeFolder(sftp, target);
  const entries = await readdir(source, { withFileTypes: true });
  for (const entry of entries.toSorted((left, right) => (left.name < right.name ? -1 : 1))) {
    const from = join(source, entry.name);
    const to = posix.join(target, entry.name);
    const found = await stat(from);
    if (found.isDirectory()) await copyFolder(sftp, from, to);
    else await writeRemoteFile(sftp, to, await readFile(from), found.mode & 0o777);
  }
}

async function makeFolder(sftp: SFTPWrapper, path: string): Promise<void> {
  if (path === "/" || path === "." || (await isFolder(sftp, path))) return;
  await makeFolder(sftp, posix.dirname(path));
  await called(path, (done) => sftp.mkdir(path, done));
}

async function isFolder(sftp: SFTPWrapper, path: string): Promise<boolean> {
  return new Promise((resolve) => {
    sftp.stat(path, (error, found) => resolve(error === undefined && found.isDirectory()));
  });
}

type Callback = (error: Error | null | undefined) => void;

async function called(path: string, call: (done: Callback) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    call((error) => {
      if (error === null || error === undefined) resolve();
      else reject(new Error(`"${path}" on the host cannot be written: ${error.message}`));
    });
  });
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
