// Plain JavaScript for Node >= 20, as bootstrap.mjs.
import { readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** The end of what pnpm writes for a program that is no script: it waits for it, and passes no signal on. */
const WAITS = /^("\$basedir\/[^\n"]*")[ \t]+"\$@"\nexit \$\?\n?$/m;

/**
 * Lets `node_modules/.bin/node` become the bundled Node instead of waiting for it. A signal to a command of the workspace
 * (`stackwright serve &`, `kill $!`) would otherwise end the shell that waits, and leave the server. pnpm writes the file anew when
 * it installs; what is not as expected is left alone, and works as before.
 */
export function execNode(root) {
  const path = join(root, "node_modules", ".bin", "node");
  try {
    const text = readFileSync(path, "utf8");
    if (!text.startsWith("#!/bin/sh\n") || !WAITS.test(text)) return;
    // Others may be starting it just now: they see the one or the other, never half of it.
    const other = `${path}.${process.pid}`;
    writeFileSync(other, text.replace(WAITS, 'exec $1 "$$@"\n'), { mode: statSync(path).mode });
    renameSync(other, path);
  } catch {
    // Not installed so, or not to be written.
  }
}
