import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { runSuiteCommand } from "./command.ts";
import { duplicateNames } from "./duplicate-names.ts";
import { describeCircles, folderGraphs } from "./folder-circles.ts";
import { checkGeneratedCode } from "./generated-code.ts";
import { buildGoPrograms } from "./go-programs.ts";
import { checkImports } from "./import-rules.ts";
import { importTable } from "./import-table.ts";
import { runLiveTests } from "./live-tests.ts";
import { readModuleGraph } from "./module-graph.ts";
import { checkPackages } from "./package-checks.ts";
import { deadLinks } from "./page-links.ts";
import { findProse, type ProseCounts, proseProblems } from "./prose-rules.ts";
import { checkReadmeSnippets } from "./readme-snippets.ts";
import { addTallies, type Tally, tallyCommand, tallyReport, tallyVitest } from "./tally.ts";
import { unusedExports } from "./unused-exports.ts";

/** One line of the table that `.ci/run` works through. */
export interface Suite {
  readonly name: string;
  readonly what: string;
  /** Past this many minutes on two cores the suite is stopped and has failed. */
  readonly limitMinutes: number;
  /** Runs only where it is named: it needs a program whose build takes too long for every change. */
  readonly onRequest?: true;
  run(context: SuiteContext): Promise<Tally>;
}

export interface SuiteContext {
  readonly root: string;
  /** Absolute; reports of runners go here. */
  readonly reports: string;
  /** Exit code of the `npm test` that ran before the table. */
  readonly npmTestExit: number;
  /** Seed of the rotating slice of random suites. */
  readonly seed: number;
  /** Until no further suite begins. */
  readonly leftMs: () => number;
}

const minutes = (count: number) => count * 60_000;

function command(
  name: string,
  what: string,
  limitMinutes: number,
  argv: readonly [string, ...string[]],
): Suite {
  return {
    name,
    what,
    limitMinutes,
    run: async ({ root }) =>
      tallyCommand(
        name,
        await runSuiteCommand(argv, { cwd: root, timeoutMs: minutes(limitMinutes) }),
      ),
  };
}

/** Everything that `.ci/run` does after it installed, in order. */
export const SUITES: readonly Suite[] = [
  {
    name: "npm test",
    what: "all tests that need no outside server; ran before this table, counted here",
    limitMinutes: 30,
    run: ({ reports, npmTestExit }) => {
      const result = {
        code: npmTestExit,
        signal: undefined,
        timedOut: false,
        stdout: "",
        stderr: "",
      };
      return Promise.resolve(tallyVitest(join(reports, "unit.json"), result));
    },
  },
  command("format", "biome: format and order of imports", 2, ["pnpm", "run", "format:check"]),
  command("lint", "oxlint with types", 5, ["pnpm", "run", "lint"]),
  command("typecheck", "tsc over every package, tests included", 10, [
    "turbo",
    "run",
    "typecheck",
    "--output-logs=errors-only",
  ]),
  {
    name: "imports",
    what: "the import rules between packages and their folders; unused exports; names that two packages define",
    limitMinutes: 1,
    run: ({ root }) => {
      const { files, problems } = checkImports(root);
      const graphs = folderGraphs(root);
      process.stdout.write(importTable(graphs));
      const none = files === 0 ? ["no source file was found"] : [];
      const modules = readModuleGraph(root);
      const exported = [...unusedExports(root, modules), ...duplicateNames(root, modules)];
      const failed = [...problems, ...graphs.flatMap(describeCircles), ...exported, ...none];
      return Promise.resolve({ passed: failed.length === 0 ? 1 : 0, failed, skipped: [] });
    },
  },
  {
    name: "prose",
    what: "words that the glossary replaces, in messages and pages",
    limitMinutes: 1,
    run: ({ root }) => {
      const hits = findProse(root);
      const baseline = JSON.parse(
        readFileSync(join(root, "tools/ci/prose-baseline.json"), "utf8"),
      ) as ProseCounts;
      const failed = proseProblems(hits, baseline);
      return Promise.resolve({ passed: failed.length === 0 ? 1 : 0, failed, skipped: [] });
    },
  },
  {
    name: "links",
    what: "links of the pages: files and headings that they name exist",
    limitMinutes: 1,
    run: ({ root }) => {
      const { pages, problems } = deadLinks(root);
      const failed = pages === 0 ? ["no page was found"] : problems;
      return Promise.resolve({ passed: failed.length === 0 ? 1 : 0, failed, skipped: [] });
    },
  },
  {
    name: "generated",
    what: "generated code is what its generator writes",
    limitMinutes: 5,
    run: ({ root }) => checkGeneratedCode(root),
  },
  command(
    "servers",
    "PostgreSQL, tmux, Chromium, Neovim, older Nodes and moto, installed where they are missing",
    10,
    ["node", "tools/servers/src/main.ts", "install"],
  ),
  {
    name: "packages",
    what: "build, publint, use of the packed packages from outside, with older Nodes and in bundles for browsers, of the installed command and of the executable; a release twice",
    limitMinutes: 15,
    run: ({ root }) => checkPackages(root),
  },
  {
    name: "readme",
    what: "the examples of the package READMEs, types and run",
    limitMinutes: 5,
    run: ({ root }) => checkReadmeSnippets(root),
  },
  {
    name: "rotating",
    what: "property tests again, with a seed that changes with every commit",
    limitMinutes: 10,
    run: async ({ root, reports, seed }) => {
      process.stdout.write(`seed of this slice: STACKWRIGHT_SEED=${seed}\n`);
      const report = join(reports, "rotating.json");
      const result = await runSuiteCommand(["vitest", "run", ".property.test.ts"], {
        cwd: root,
        timeoutMs: minutes(10),
        env: { STACKWRIGHT_REPORT: report, STACKWRIGHT_SEED: String(seed) },
      });
      return tallyVitest(report, result);
    },
  },
  command("start", "what `npm start` does: server, functions, private provider, quickstart", 5, [
    "node",
    "examples/quickstart/start.ts",
    "--port",
    "0",
  ]),
  {
    name: "programs",
    what: "etcd and the provider binaries, built with Go or taken from the cache",
    limitMinutes: 30,
    run: ({ root }) => buildGoPrograms(root, minutes(30)),
  },
  {
    name: "examples",
    what: "every example that is a program",
    limitMinutes: 10,
    run: async ({ root, reports }) => {
      const report = join(reports, "examples.json");
      const servers = join(root, "tools/servers/src/main.ts");
      const script = [process.execPath, join(root, "tools/dev/run-examples.ts"), report];
      const argv: [string, ...string[]] = [process.execPath, servers, "exec", "--servers", "none"];
      const result = await runSuiteCommand([...argv, "--", ...script], {
        cwd: root,
        timeoutMs: minutes(10),
      });
      return tallyReport(report, result);
    },
  },
  {
    name: "kubernetes",
    what: "the manifests and the executor of Jobs with a real API server, which is built first",
    limitMinutes: 75,
    onRequest: true,
    run: async ({ root, reports }) => {
      const report = join(reports, "kubernetes.json");
      const servers = join(root, "tools/servers/src/main.ts");
      const words = ["exec", "--servers", "none", "--tools", "etcd,kube-apiserver", "--"];
      const vitest = [
        "vitest",
        "run",
        "--config",
        "vitest.live.config.ts",
        "kubernetes-worker.live",
      ];
      const result = await runSuiteCommand([process.execPath, servers, ...words, ...vitest], {
        cwd: root,
        timeoutMs: minutes(75),
        env: { STACKWRIGHT_REPORT: report },
      });
      return tallyVitest(report, result);
    },
  },
  {
    ...command(
      "fresh",
      "`npm start` and `npm test` on a system of Debian with Node and npm alone",
      60,
      ["node", "tools/containers/src/main.ts", "fresh"],
    ),
    onRequest: true,
  },
  {
    name: "differential",
    what: "the command against recordings of the reference command, case by case",
    limitMinutes: 15,
    run: async ({ root, reports }) => {
      const report = join(reports, "differential.json");
      const script = join(root, "e2e/src/differential/main.ts");
      const result = await runSuiteCommand([process.execPath, script, "--report", report], {
        cwd: root,
        timeoutMs: minutes(15),
      });
      return tallyReport(report, result);
    },
  },
  {
    name: "compose",
    what: "images built from Debian packages, e2e/compose.yaml and the scenarios with them",
    limitMinutes: 25,
    run: async ({ root, reports }) => {
      const report = join(reports, "compose.json");
      const scenarios = join(reports, "compose-scenarios.json");
      const team = join(reports, "compose-team-scenarios.json");
      // What an earlier run left would count for one that was skipped.
      for (const file of [scenarios, team]) rmSync(file, { force: true });
      const script = join(root, "tools/containers/src/main.ts");
      // It gives up before it is stopped, so that nothing of it is left.
      const files = ["--report", report, "--scenarios-report", scenarios, "--team-report", team];
      const words = ["try", ...files, "--minutes", "22"];
      const result = await runSuiteCommand([process.execPath, script, ...words], {
        cwd: root,
        timeoutMs: minutes(25),
      });
      const steps = tallyReport(report, result);
      // Each scenario counts; that vitest failed at all is a failed step already.
      const written = [scenarios, team].filter((file) => existsSync(file));
      return addTallies([
        steps,
        ...written.map((file) => tallyVitest(file, { ...result, code: 0 })),
      ]);
    },
  },
  {
    name: "live",
    what: "tests against real servers, provider binaries and commands; the last one, with the time that is left",
    limitMinutes: 60,
    run: ({ root, reports, seed, leftMs }) =>
      runLiveTests({ root, reports, seed, timeMs: Math.min(minutes(55), leftMs()) }),
  },
];
