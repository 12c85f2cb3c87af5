import { readFile, rm, writeFile } from "node:fs/promises";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { requireCommand } from "@stackwright-tools/processes";

/** What goes into an archive. */
interface ArchiveInputs {
  /** Its files are the content. */
  readonly folder: string;
  /** The file or folder in it that is packed alone. @default all of it */
  readonly content?: string;
  /** Ends with `.tar.gz` or `.tgz`. */
  readonly output: string;
  /** Of every file. */
  readonly time: Date;
}

/**
 * Writes an archive that depends on names, content and executable bits alone: not on who made it, when, where, or in which order the
 * folder lists its files. Needs GNU tar.
 */
export async function writeArchive({
  folder,
  content = ".",
  output,
  time,
}: ArchiveInputs): Promise<void> {
  const tar = output.replace(/\.t?gz$/, ".unpacked");
  const words = [
    "--sort=name",
    `--mtime=@${Math.floor(time.getTime() / 1000)}`,
    "--owner=0",
    "--group=0",
    "--numeric-owner",
    "--mode=u=rwX,go=rX",
    "--format=gnu",
  ];
  await requireCommand(
    ["tar", ...words, "--create", "--file", tar, "--directory", folder, content],
    {
      timeoutMs: 120_000,
    },
  );
  await writeFile(output, await promisify(gzip)(await readFile(tar), { level: 6 }));
  await rm(tar);
}
