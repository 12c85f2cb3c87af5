// Plain JavaScript for Node >= 20: this is what runs before anything is installed.
// Installs the workspace with the pinned pnpm, finds Node >= 24 and hands over to it.
import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { execNode } from "./exec-node.mjs";

const root = join(dirname(fileURLToPath(import.meta.url)), "..", "..");
const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));

const COMMANDS = {
  start: ["examples/quickstart/start.ts"],
  test: ["node_modules/vitest/vitest.mjs", "run"],
  node: [],
};

function fail(message) {
  process.stderr.write(`stackwright: ${message}\n`);
  process.exit(1);
}

function majorOf(version) {
  return Number(/^v?(\d+)/.exec(version)?.[1] ?? 0);
}

/** Installs with the frozen lock file unless that very lock file is what is installed. */
function install() {
  const stamp = join(root, "node_modules", ".stackwright-install");
  const hash = createHash("sha256");
  for (const file of ["package.json", "pnpm-lock.yaml", "pnpm-workspace.yaml"]) {
    hash.update(readFileSync(join(root, file)));
  }
  const wanted = `${hash.update(`${process.platform}-${process.arch}`).digest("hex")}\n`;
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === wanted) return;
  const result = spawnSync(
    process.platform === "win32" ? "npx.cmd" : "npx",
    ["-y", manifest.packageManager, "install", "--frozen-lockfile"],
    { cwd: root, stdio: "inherit", shell: process.platform === "win32" },
  );
  if (result.error) fail(`cannot run npx, which comes with npm: ${result.error.message}`);
  if (result.status !== 0) {
    fail(
      "the installation failed; the messages above say why. Mend that and run the command again.",
    );
  }
  writeFileSync(stamp, wanted);
}

/** The Node that came with the installation, else the one we run on, when it is new enough. */
function findNode() {
  const needed = majorOf(manifest.engines.node.replace(/^\D+/, ""));
  const [name] = Object.keys(manifest.optionalDependencies).filter((key) =>
    key.startsWith("node-"),
  );
  const bundled = join(root, "node_modules", name, "bin", "node");
  if (existsSync(bundled) && spawnSync(bundled, ["--version"]).status === 0) return bundled;
  if (majorOf(process.version) >= needed) return process.execPath;
  return fail(
    `needs Node ${needed} or newer and found ${process.version}; no bundled Node exists for ` +
      `${process.platform}-${process.arch}, so install Node ${needed} and run the command again.`,
  );
}

const [command, ...rest] = process.argv.slice(2);
if (!Object.hasOwn(COMMANDS, command)) {
  fail(`usage: node tools/dev/bootstrap.mjs <${Object.keys(COMMANDS).join(" | ")}> [arguments]`);
}
if (majorOf(process.version) < 20)
  fail(`needs Node 20 or newer to install, found ${process.version}`);
install();
execNode(root);
const node = findNode();
const child = spawn(node, [...COMMANDS[command], ...rest], {
  cwd: root,
  stdio: "inherit",
  env: {
    ...process.env,
    PATH: [dirname(node), join(root, "node_modules", ".bin"), process.env.PATH].join(delimiter),
  },
});
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
child.on("exit", (code, signal) => {
  process.exitCode = code ?? (signal === "SIGINT" ? 130 : 143);
});
