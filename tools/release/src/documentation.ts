import { cp, mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { writeArchive } from "./archive.ts";
import type { PartContext } from "./parts.ts";

/** The pages that every server has at `/help/`, for any server of static files. */
export async function makeDocumentation({
  root,
  output,
  version,
  time,
}: PartContext): Promise<void> {
  await using scratch = await mkdtempDisposable(join(tmpdir(), "stackwright-docs-"));
  const name = `stackwright-${version}-docs`;
  await cp(join(root, "apps/console/dist/help"), join(scratch.path, name), { recursive: true });
  await writeArchive({ folder: scratch.path, output: join(output, `${name}.tar.gz`), time });
}
