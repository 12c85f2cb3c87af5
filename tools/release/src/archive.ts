import { readFile, rm, writeFile } from "node:fs/promises";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { requireCommand } from "@stackwright-tools/processes";

/** What goes into an archive. */
interface ArchiveInputs {
  /** Its files are the content. */
  readonly folder: string;
  /** Ends with `.tar.gz`. */
  readonly output: string;
  /** Of every file. */
  readonly time: Date;
}

/**
 * Writes an archive that depends on names, content and executable bits alone: not on who made it, when, where, or in which order the
 * folder lists its files. Needs GNU tar.
 */
export async function writeArchive({ folder, output, time }: ArchiveInputs): Promise<void> {
  const tar = output.slice(0, -".gz".length);
  const words = [
    "--sort=name",
    `--mtime=@${Math.floor(time.getTime() / 1000)}`,
    "--owner=0",
    "--group=0",
    "--numeric-owner",
    "--mode=u=rwX,go=rX",
    "--format=gnu",
  ];
  await requireCommand(["tar", ...words, "--create", "--file", tar, "--directory", folder, "."], {
    timeoutMs: 120_000,
  });
  await writeFile(output, await promisify(gzip)(await readFile(tar), { level: 6 }));
  await rm(tar);
}
