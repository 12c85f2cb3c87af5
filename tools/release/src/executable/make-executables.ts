import { existsSync } from "node:fs";
import { copyFile, mkdir, mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import process from "node:process";
import { requireCommand } from "@stackwright-tools/processes";
import { writeArchive } from "../archive.ts";
import type { PartContext } from "../parts.ts";
import { ReleaseError } from "../release-error.ts";
import { buildExecutable, platformOf } from "./build-executable.ts";

/** Makes an executable with each Node, in an archive with the licenses. */
export async function makeExecutables({
  root,
  output,
  version,
  time,
  nodes,
}: PartContext): Promise<void> {
  const command = join(root, "apps/cli");
  await requireCommand([process.execPath, "scripts/stage-package.ts"], { cwd: command });
  await mkdir(output, { recursive: true });
  for (const node of nodes) {
    const name = `stackwright-${version}-${await platformOf(node)}`;
    await using scratch = await mkdtempDisposable(join(tmpdir(), "stackwright-release-"));
    const folder = join(scratch.path, name);
    await mkdir(folder);
    const packageFolder = join(command, "package");
    await buildExecutable({ packageFolder, node, output: join(folder, "stackwright") });
    for (const file of ["LICENSE", "THIRD-PARTY.md"]) {
      await copyFile(join(packageFolder, file), join(folder, file));
    }
    await copyFile(licenseOf(node), join(folder, "LICENSE-NODE"));
    await writeArchive({
      folder: scratch.path,
      output: join(output, `${name}.tar.gz`),
      time,
    });
  }
}

/** Of Node, with those of what it contains: every distribution of Node has it above the folder of the program. */
function licenseOf(node: string): string {
  const path = join(dirname(node), "..", "LICENSE");
  if (existsSync(path)) return path;
  throw new ReleaseError(
    "RELEASE_NODE_INVALID",
    `${path} is missing: the executable contains Node, so its archive needs the license. Name the program in an unpacked distribution of Node`,
  );
}
