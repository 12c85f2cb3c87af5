import { join } from "node:path";
import process from "node:process";
import { requireCommand } from "@stackwright-tools/processes";
import type { PartContext } from "./parts.ts";

/** Packs the extension for VS Code, which starts the command. */
export async function makeEditorExtension({ root, output }: PartContext): Promise<void> {
  const program = join(root, "apps/vscode/scripts/main.ts");
  await requireCommand([process.execPath, program, output], { cwd: root, timeoutMs: 120_000 });
}
