/** A random suite that is worth running for much longer than `.ci/run` does. */
export interface SoakJob {
  readonly name: string;
  readonly what: string;
  /** Test files, as filters of vitest. */
  readonly files: readonly string[];
  /** A program that judges its own result, in place of test files; it gets the seed as its last argument. */
  readonly program?: readonly [string, ...string[]];
  /** Variables for the files, beside those of every job. */
  readonly env?: Readonly<Record<string, string>>;
  /** Whether the files need real servers. */
  readonly live: boolean;
  /** Servers that are started for live files, as `tools/servers` names them. @default all */
  readonly servers?: string;
  /** Tools that are built for live files. @default those that every run builds */
  readonly tools?: string;
  /** Runs of its own, each with another seed; what is done is not repeated after an interruption. */
  readonly slices: number;
  /** `STACKWRIGHT_RUNS` of each slice: how many times the counts of `npm test`. */
  readonly runs: number;
  /** Deadline of one slice. */
  readonly limitMinutes: number;
}

export const SOAK_JOBS: readonly SoakJob[] = [
  {
    name: "krt-programs",
    what: "random programs, recursions and orders against models that recompute everything: 100,000 and more",
    files: [
      "packages/krt/src/testing/oracle/",
      "packages/krt/src/recursive.property.test.ts",
      "packages/krt/src/ordered.property.test.ts",
    ],
    live: false,
    slices: 5,
    runs: 34,
    limitMinutes: 30,
  },
  {
    name: "krt-leaks",
    what: "collections created and disposed on live sources: 10,000 of each type",
    files: ["packages/krt/src/leak.test.ts"],
    live: false,
    slices: 1,
    runs: 100,
    limitMinutes: 60,
  },
  {
    name: "storage-sqlite",
    what: "histories of sqlite under kill -9 and clock jumps: 10,000 operations per fault",
    files: ["packages/storage/src/engine/sqlite/crash.test.ts"],
    live: false,
    slices: 4,
    runs: 5,
    limitMinutes: 30,
  },
  {
    name: "storage-remote",
    what: "histories through the service under faults: 10,000 operations per fault",
    files: ["packages/storage/src/engine/remote/faults"],
    live: false,
    slices: 5,
    runs: 5,
    limitMinutes: 30,
  },
  {
    name: "storage-servers",
    what: "histories of PostgreSQL and etcd under faults: 10,000 operations per fault",
    files: [
      "packages/storage/src/engine/postgres/faults",
      "packages/storage/src/engine/postgres/promotion",
      "packages/storage/src/engine/postgres/disk-full",
      "packages/storage/src/engine/etcd/faults",
    ],
    live: true,
    slices: 5,
    runs: 5,
    limitMinutes: 45,
  },
  {
    name: "lang-syntax",
    what: "generated and damaged templates: 100,000 against the reference parser",
    files: ["packages/lang/src/syntax/"],
    live: false,
    slices: 10,
    runs: 100,
    limitMinutes: 60,
  },
  {
    name: "mux-leaks",
    what: "calls and provider processes that must leave nothing behind: 100,000 calls over gRPC",
    files: ["packages/mux/src/testing/chaos/"],
    live: false,
    slices: 1,
    runs: 100,
    limitMinutes: 60,
  },
  {
    name: "cty-vectors",
    what: "random questions to go-cty: 100,000",
    files: ["packages/cty/src/testing/vectors/"],
    live: true,
    slices: 5,
    runs: 1,
    limitMinutes: 20,
  },
  {
    name: "engine-simulation",
    what: "simulated runs with crashes, faults and frozen workers: 50,000",
    files: ["packages/core/src/testing/simulation/simulation.test.ts"],
    live: false,
    slices: 10,
    runs: 84,
    limitMinutes: 60,
  },
  {
    name: "run-simulation",
    what: "simulated servers and workers that execute runs, with crashes, pauses and lost answers: 30,000",
    files: ["apps/engine/src/testing/simulation/simulation.test.ts"],
    live: false,
    slices: 10,
    runs: 15,
    limitMinutes: 30,
  },
  {
    name: "engine-kill",
    what: "applies that are killed at random moments: 200 with a model provider, 200 with a Go-built one",
    files: ["packages/core/src/testing/crash/"],
    live: true,
    slices: 4,
    runs: 25,
    limitMinutes: 60,
  },
  {
    name: "command-faults",
    what: "applies of the command during which it or its provider is killed, stopped or asked to end: 1,000",
    files: ["apps/cli/src/commands/faults.live.test.ts"],
    live: true,
    slices: 10,
    runs: 50,
    limitMinutes: 120,
  },
  {
    name: "server-faults",
    what: "runs of a server during which it, its worker, an executor or a provider is killed, stopped or asked to end: 1,000",
    files: ["apps/cli/src/commands/server-faults.live.test.ts"],
    live: true,
    slices: 10,
    runs: 50,
    limitMinutes: 180,
  },
  {
    name: "store-outage",
    what: "a database that is away for a minute in the midst of an apply; servers that are killed while they add runs: 25 on each store",
    files: [
      "apps/engine/src/store-outage.live.test.ts",
      "apps/engine/src/enqueue-kill.live.test.ts",
    ],
    live: true,
    slices: 1,
    runs: 25,
    limitMinutes: 60,
  },
  {
    name: "round-trip",
    what: "states of terraform adopted, changed by 20 random applies with a kill, and returned: 10 by mirror, 10 by export",
    files: ["apps/cli/src/commands/round-trip.live.test.ts"],
    live: true,
    slices: 10,
    runs: 10,
    limitMinutes: 20,
  },
  {
    name: "adopt-killed",
    what: "adoptions that are killed at 40 moments, and finished by the next one",
    files: ["apps/cli/src/commands/adopt-killed.live.test.ts"],
    live: true,
    slices: 1,
    runs: 20,
    limitMinutes: 20,
  },
  {
    name: "properties",
    what: "the property tests of all packages",
    files: [".property.test.ts"],
    live: false,
    slices: 5,
    runs: 5,
    limitMinutes: 60,
  },
  {
    name: "reactions",
    what: "changes of outputs that run through 50 stacks while servers are killed: 2,000; checks for drift of 10,000 stacks",
    files: [
      "apps/engine/src/trigger/trigger-chains.property.test.ts",
      "apps/engine/src/drift/fire-drift-checks.test.ts",
    ],
    live: false,
    slices: 2,
    runs: 25,
    limitMinutes: 60,
  },
  {
    name: "mutation",
    what: "changes of apply, state, storage, leases, auth, limits, archive and queue that unit tests have to notice",
    files: [
      "packages/core/src/apply/",
      "packages/core/src/state/",
      "packages/storage/src/",
      "packages/registry/src/access/",
      "packages/request-signing/src/",
      "packages/provider-source/src/archive/",
      "apps/engine/src/queue/",
    ],
    program: [
      "tools/mutation/src/main.ts",
      "--sample",
      "150",
      "--least",
      "85",
      "--minutes",
      "100",
      "--seed",
    ],
    live: false,
    slices: 4,
    runs: 1,
    limitMinutes: 120,
  },
  {
    name: "upgrade",
    what: "servers and workers of former releases, built from the history, exchanged one by one during an apply; needs the whole history",
    files: ["e2e/src/upgrade/"],
    env: { TEST_FORMER_RELEASES: "1" },
    live: true,
    slices: 1,
    runs: 1,
    limitMinutes: 60,
  },
  {
    name: "sizes",
    what: "states of 100 MB and 1,000 workspaces by the real commands, and a log of 50 MB, where the live suite has smaller ones",
    files: [
      "apps/engine/src/tfe-api/sizes.live.test.ts",
      "apps/engine/src/state-api/large-state.live.test.ts",
    ],
    env: { TEST_FULL_SIZES: "1" },
    live: true,
    servers: "none",
    tools: "opentofu",
    slices: 1,
    runs: 1,
    limitMinutes: 90,
  },
  {
    name: "tofu",
    what: "states, workspaces, runs and modules of this server by tofu, which the live suite does not build",
    files: [
      "apps/engine/src/state-api/",
      "apps/engine/src/tfe-api/callers.live.test.ts",
      "apps/engine/src/tfe-api/remote-execution.live.test.ts",
      "apps/cli/src/commands/adopt-tofu.live.test.ts",
    ],
    live: true,
    servers: "none",
    tools: "opentofu",
    slices: 1,
    runs: 1,
    limitMinutes: 90,
  },
  {
    name: "drills",
    what: "how soon a run is reported whose provider hangs, or whose worker is killed",
    files: ["e2e/src/drill/"],
    env: { TEST_DRILLS: "1" },
    live: true,
    slices: 1,
    runs: 1,
    limitMinutes: 10,
  },
  {
    name: "bench-ratios",
    what: "short benchmarks, whose ratios to their baselines are compared with docs/benchmarks.md; needs pnpm build",
    files: [],
    program: ["bench/all/run.ts", "--compare"],
    live: false,
    slices: 1,
    runs: 1,
    limitMinutes: 60,
  },
];
