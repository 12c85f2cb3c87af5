import { mkdir, mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { requireCommand } from "@stackwright-tools/processes";
import { writeArchive } from "./archive.ts";
import type { PartContext } from "./parts.ts";

/** What the builder of images reads: the sources of the commit, which `.dockerignore` cuts down. */
export async function makeImageContext({
  root,
  output,
  version,
  commit,
  time,
}: PartContext): Promise<void> {
  await using scratch = await mkdtempDisposable(join(tmpdir(), "stackwright-context-"));
  const name = `stackwright-${version}-image-context`;
  const [folder, tar] = [join(scratch.path, "context"), join(scratch.path, "sources.tar")];
  await mkdir(join(folder, name), { recursive: true });
  await requireCommand(["git", "archive", `--prefix=${name}/`, "--output", tar, commit], {
    cwd: root,
  });
  await requireCommand(["tar", "--extract", "--file", tar, "--directory", folder]);
  await writeArchive({ folder, output: join(output, `${name}.tar.gz`), time });
}
