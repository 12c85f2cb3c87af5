import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { requireCommand } from "@stackwright-tools/processes";
import type { PartContext } from "./parts.ts";

/** It only loads the server, but from its sources; on a machine with other work the default of a minute was not enough. */
const PRINT_MS = 5 * 60_000;

/** Writes the OpenAPI document of the built server. */
export async function makeOpenApi({ root, output, version }: PartContext): Promise<void> {
  const program = join(root, "apps/engine/scripts/print-openapi.ts");
  const text = await requireCommand([process.execPath, program], {
    cwd: root,
    timeoutMs: PRINT_MS,
  });
  await writeFile(join(output, `stackwright-${version}-openapi.json`), text);
}
