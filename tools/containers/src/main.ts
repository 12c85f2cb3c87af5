import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { cacheFolder } from "@stackwright-tools/go";
import { buildImages } from "./build-images.ts";
import { ensurePrograms } from "./debian-packages.ts";
import { Docker } from "./docker.ts";
import { failureText } from "./failure-text.ts";
import { FreshSystem } from "./fresh-system.ts";
import { checkImageSums, writeImageSums } from "./image-sums.ts";
import { DEFAULT_PORTS, prepare } from "./prepare.ts";
import { tryCompose } from "./trial.ts";

const USAGE = `usage: node tools/containers/src/main.ts <command>

  prepare [--directory DIR] [--port PORT] [--storage-port PORT] [--functions-port PORT]
          [--project ID]...
      makes the secrets that e2e/compose.yaml asks for, where there are none, and its variables
  images [--tag TAG] [--sums FILE]
      builds the images of e2e/compose.yaml as \`try\` does, in the engine that runs, and leaves them;
      writes their sums into the file
  check --sums FILE
      compares the images of the engine that runs, such as loaded ones, with these sums
  try [--report FILE] [--scenarios-report FILE] [--team-report FILE] [--minutes N] [--tag TAG]
      builds the images from packages of Debian and of npm, without a registry of images; starts
      e2e/compose.yaml with them as docs/compose.md says, inspects the containers, runs the
      scenarios of e2e/src/scenarios/main-job and server, and takes everything away. As root on
      Debian it installs and starts a Docker engine where none runs; what cannot be tried is said.
      With a tag it takes images that are there.
  fresh [start|test]...
      runs \`npm start\` (twice) and \`npm test\` in a fresh clone with empty caches, on a system of
      Debian that has Node and npm of this machine and nothing else, as another user than root;
      says time and disk. Needs root.
`;

const root = join(import.meta.dirname, "../../..");
const cache = join(cacheFolder(process.env), "containers");
const say = (text: string) => process.stdout.write(`compose: ${text.trim()}\n`);

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    directory: { type: "string", default: join(root, "e2e/.compose") },
    port: { type: "string", default: String(DEFAULT_PORTS.server) },
    "storage-port": { type: "string", default: String(DEFAULT_PORTS.storage) },
    "functions-port": { type: "string", default: String(DEFAULT_PORTS.functions) },
    project: { type: "string", multiple: true, default: ["a61dfe3154de42829367056598d5040f"] },
    report: { type: "string" },
    "scenarios-report": { type: "string" },
    "team-report": { type: "string" },
    tag: { type: "string" },
    sums: { type: "string" },
    minutes: { type: "string", default: "25" },
  },
});

switch (positionals[0]) {
  case "prepare": {
    const directory = resolve(values.directory);
    const ports = {
      server: Number(values.port),
      storage: Number(values["storage-port"]),
      functions: Number(values["functions-port"]),
    };
    await prepare({ directory, ports, region: "local", projects: values.project });
    say(`secrets and variables are in ${directory}`);
    break;
  }
  case "images":
    process.exitCode = await runImages(values.tag ?? "latest", values.sums);
    break;
  case "check":
    process.exitCode = await runCheck(values.sums);
    break;
  case "try":
    process.exitCode = await runTrial();
    break;
  case "fresh":
    process.exitCode = await runFresh(positionals.slice(1));
    break;
  case undefined:
  default:
    process.stderr.write(USAGE);
    process.exitCode = 2;
}

async function runCheck(sums: string | undefined): Promise<number> {
  if (sums === undefined) {
    process.stderr.write(USAGE);
    return 2;
  }
  const docker = await Docker.find(process.env);
  const wrong = typeof docker === "string" ? [docker] : await checkImageSums(docker, sums);
  for (const line of wrong) say(line);
  if (wrong.length === 0) say(`the images are those of ${sums}`);
  return wrong.length === 0 ? 0 : 1;
}

async function runImages(tag: string, sums: string | undefined): Promise<number> {
  const docker = await Docker.find(process.env);
  const missing = typeof docker === "string" ? docker : await ensurePrograms(["debootstrap"], say);
  if (typeof docker === "string" || missing !== undefined) {
    say(missing ?? "");
    return 1;
  }
  const images = Object.values(await buildImages({ docker, root, cache, tag, say }));
  say(images.join(" "));
  if (sums !== undefined) await writeImageSums(docker, images, resolve(sums));
  return 0;
}

async function runFresh(only: readonly string[]): Promise<number> {
  const missing = await ensurePrograms(["debootstrap", "git", "unshare"], say);
  if (missing !== undefined || process.getuid?.() !== 0) {
    say(missing ?? "this needs root");
    return 1;
  }
  await using system = await FreshSystem.make({ root, cache, say });
  const lines: string[] = [];
  let failed = 0;
  const wanted = only.length === 0 ? ["start", "test"] : only;
  for (const name of wanted.flatMap((word) => (word === "start" ? [word, word] : [word]))) {
    const { code, seconds } = await system.run(`npm ${name}`, 30 * 60_000);
    const { clone, home } = await system.megabytes();
    if (code !== 0) failed += 1;
    lines.push(
      `npm ${name}: code ${code}, ${seconds.toFixed(0)} s; the clone has ${clone} MB, caches ${home} MB`,
    );
  }
  for (const line of lines) say(line);
  process.stdout.write(`${lines.length - failed} passed, ${failed} failed\n`);
  return failed === 0 ? 0 : 1;
}

async function runTrial(): Promise<number> {
  const { tag, report, "scenarios-report": scenariosReport, "team-report": teamReport } = values;
  const minutes = Number(values.minutes);
  const interrupt = new AbortController();
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.once(name, () => interrupt.abort(new Error(`interrupted by ${name}`)));
  }
  const signal = AbortSignal.any([AbortSignal.timeout(minutes * 60_000), interrupt.signal]);
  const options = { root, cache, tag, scenariosReport, teamReport, say, signal };
  const tally = await tryCompose(options).catch((error: unknown) => {
    say(failureText(error));
    return { passed: 0, failed: ["the trial itself broke; see above"], skipped: [] };
  });
  for (const line of [...tally.skipped, ...tally.failed]) say(line);
  if (report !== undefined) {
    mkdirSync(dirname(report), { recursive: true });
    writeFileSync(report, JSON.stringify(tally));
  }
  const { passed, failed, skipped } = tally;
  const tail = skipped.length === 0 ? "" : `, ${skipped.length} skipped`;
  process.stdout.write(`${passed} passed, ${failed.length} failed${tail}\n`);
  return failed.length === 0 ? 0 : 1;
}
