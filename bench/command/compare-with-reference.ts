import { mkdtempDisposable } from "node:fs/promises";
import { cpus, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { findReference, type Subject } from "./commands.ts";

/** Compares with the reference command in a folder that is removed afterwards; says so and does nothing where it is not installed. */
export async function compareWithReference(
  name: string,
  compare: (scratch: string, peer: Subject) => Promise<void>,
): Promise<void> {
  const reference = findReference();
  if (reference === undefined) {
    console.log("skipped: the reference command 1.11 is not installed");
    return;
  }
  const load = loadavg()[0]?.toFixed(1);
  console.log(`Node ${process.version}, ${cpus().length} x ${cpus()[0]?.model}, load ${load}`);
  await using scratch = await mkdtempDisposable(join(tmpdir(), `${name}-`));
  await compare(scratch.path, reference);
}
