import { spawn } from "node:child_process";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { layOut } from "./installation/lay-out.ts";

const USAGE = `usage: pnpm e2e [--compose | --built | lay-out FOLDER | FILE...]

  pnpm e2e                the differential cases; then scenarios and terminal tests, with server
                          and functions as processes, on the sources
  pnpm e2e FILE...        those tests alone whose paths have one of the words
  pnpm e2e --built [...]  builds the packages, lays them out as an installation would, and runs
                          scenarios and terminal tests on that
  pnpm e2e --compose      builds images and runs the scenarios of the main job and of the server with
                          e2e/compose.yaml;
                          the same as \`node tools/containers/src/main.ts try\`
  pnpm e2e lay-out FOLDER builds the packages and lays them out there, for E2E_INSTALLATION
`;

const ROOT = join(import.meta.dirname, "../..");
const BIN = join(ROOT, "node_modules/.bin");
const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** Runs a program to its end; a signal to us is one to it. */
async function run(
  [program, ...words]: readonly [string, ...string[]],
  env: Readonly<Record<string, string>> = {},
): Promise<number> {
  const child = spawn(program, words, {
    cwd: ROOT,
    env: { ...process.env, ...env },
    stdio: "inherit",
  });
  const passOn = (name: NodeJS.Signals) => void child.kill(name);
  for (const name of SIGNALS) process.on(name, passOn);
  try {
    return await new Promise((resolve, reject) => {
      child.once("error", reject);
      child.once("exit", (code) => resolve(code ?? 1));
    });
  } finally {
    for (const name of SIGNALS) process.off(name, passOn);
  }
}

async function build(folder: string): Promise<number> {
  const code = await run([join(BIN, "turbo"), "run", "build", "--output-logs=errors-only"]);
  if (code === 0) await layOut(ROOT, folder);
  return code;
}

async function runTests(
  files: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<number> {
  const words = ["run", "--config", "vitest.live.config.ts", "--project", "e2e"];
  return run([join(BIN, "vitest"), ...words, ...files], env);
}

async function runBuilt(files: readonly string[]): Promise<number> {
  // Folders of users have blanks in their names.
  await using folder = await mkdtempDisposable(join(tmpdir(), "stackwright installation-"));
  const code = await build(folder.path);
  if (code !== 0) return code;
  const wanted = files.length === 0 ? ["src/scenarios", "src/terminal"] : files;
  return await runTests(wanted, { E2E_INSTALLATION: folder.path });
}

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      compose: { type: "boolean", default: false },
      built: { type: "boolean", default: false },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  const [first, folder, ...rest] = positionals;
  if (values.help) {
    process.stdout.write(USAGE);
    return 0;
  }
  if (first === "lay-out" && folder !== undefined && rest.length === 0) return build(folder);
  if (first === "lay-out" || (values.compose && (values.built || first !== undefined))) {
    process.stderr.write(USAGE);
    return 2;
  }
  if (values.compose) {
    return run([process.execPath, join(ROOT, "tools/containers/src/main.ts"), "try"]);
  }
  if (values.built) return runBuilt(positionals);
  if (first !== undefined) return runTests(positionals);
  const cases = await run([process.execPath, join(ROOT, "e2e/src/differential/main.ts")]);
  return Math.max(cases, await runTests([]));
}

process.exitCode = await main();
