import { writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { cacheFolder } from "@stackwright-tools/go";
import { DEFAULT_PORTS, prepare } from "./prepare.ts";
import { tryCompose } from "./trial.ts";

const USAGE = `usage: node tools/containers/src/main.ts <command>

  prepare [--directory DIR] [--functions-port PORT] [--project ID]...
      makes the secrets that e2e/compose.yaml asks for, where there are none, and its variables
  try [--report FILE] [--minutes N]
      builds the images from packages of Debian and of npm, without a registry of images; starts
      e2e/compose.yaml with them, publishes a private provider, deploys, updates and destroys with
      it while the server and the database die in between, and takes everything away. As root on
      Debian it installs and starts a Docker engine where none runs; what cannot be tried is said.
`;

const root = join(import.meta.dirname, "../../..");
const say = (text: string) => process.stdout.write(`compose: ${text.trim()}\n`);

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    directory: { type: "string", default: join(root, "e2e/.compose") },
    "functions-port": { type: "string", default: String(DEFAULT_PORTS.functions) },
    project: { type: "string", multiple: true, default: ["a61dfe3154de42829367056598d5040f"] },
    report: { type: "string" },
    minutes: { type: "string", default: "15" },
  },
});

switch (positionals[0]) {
  case "prepare": {
    const directory = resolve(values.directory);
    const ports = { ...DEFAULT_PORTS, functions: Number(values["functions-port"]) };
    await prepare({ directory, ports, region: "local", projects: values.project });
    say(`secrets and variables are in ${directory}`);
    break;
  }
  case "try":
    process.exitCode = await runTrial(values.report, Number(values.minutes));
    break;
  case undefined:
  default:
    process.stderr.write(USAGE);
    process.exitCode = 2;
}

async function runTrial(report: string | undefined, minutes: number): Promise<number> {
  const interrupt = new AbortController();
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.once(name, () => interrupt.abort(new Error(`interrupted by ${name}`)));
  }
  const signal = AbortSignal.any([AbortSignal.timeout(minutes * 60_000), interrupt.signal]);
  const cache = join(cacheFolder(process.env), "containers");
  const tally = await tryCompose({ root, cache, say, signal });
  for (const line of [...tally.skipped, ...tally.failed]) say(line);
  if (report !== undefined) writeFileSync(report, JSON.stringify(tally));
  const { passed, failed, skipped } = tally;
  const tail = skipped.length === 0 ? "" : `, ${skipped.length} skipped`;
  process.stdout.write(`${passed} passed, ${failed.length} failed${tail}\n`);
  return failed.length === 0 ? 0 : 1;
}
