/** A part of the sources whose tests are measured. */
export interface Target {
  readonly name: string;
  /** Folders or files, relative to the root of the repository. */
  readonly sources: readonly string[];
  /** Names of the vitest projects whose tests may notice a change. */
  readonly projects: readonly string[];
  /** Test files, as the beginnings of their paths; those of the projects without it. Each runs once before the first change. */
  readonly tests?: readonly string[];
  /** Tests of sources that run in a thread of their own, where their calls are not seen. */
  readonly threads?: Readonly<Record<string, readonly string[]>>;
  /** Environment of the tests. */
  readonly env?: Readonly<Record<string, string>>;
}

/** The simulation of the engine judges, too, with a fifth of its cases. */
const SIMULATED = { STACKWRIGHT_RUNS: "0.2" };

/** Where a change that no test notices could lose objects, let in a stranger or write outside of a folder. */
export const TARGETS: readonly Target[] = [
  {
    name: "apply",
    sources: ["packages/core/src/apply"],
    projects: ["core"],
    tests: [
      "packages/core/src/apply/",
      "packages/core/src/testing/conformance/",
      "packages/core/src/provisioners/",
      "packages/core/src/testing/simulation/simulation.test.ts",
    ],
    env: SIMULATED,
  },
  {
    name: "state",
    sources: ["packages/core/src/state"],
    projects: ["core"],
    tests: [
      "packages/core/src/state/",
      "packages/core/src/state-transfer/",
      "packages/core/src/testing/conformance/",
      "packages/core/src/testing/simulation/simulation.test.ts",
    ],
    env: SIMULATED,
  },
  {
    name: "storage",
    sources: [
      "packages/storage/src/codec.ts",
      "packages/storage/src/validate.ts",
      "packages/storage/src/feed",
      "packages/storage/src/engine/memory",
    ],
    projects: ["storage"],
    tests: [
      "packages/storage/src/codec",
      "packages/storage/src/validate",
      "packages/storage/src/feed/",
      "packages/storage/src/engine/memory",
    ],
  },
  {
    name: "leases",
    sources: ["packages/storage/src/lease"],
    projects: ["storage"],
    tests: ["packages/storage/src/lease/"],
    threads: {
      "packages/storage/src/lease/renewal-thread.ts": [
        "packages/storage/src/lease/thread-renewer.test.ts",
      ],
    },
  },
  {
    name: "auth",
    sources: ["packages/registry/src/access", "packages/request-signing/src"],
    projects: ["registry", "request-signing"],
  },
  {
    name: "limits",
    sources: [
      "packages/base/src/limiter.ts",
      "packages/base/src/retry.ts",
      "packages/base/src/json.ts",
      "packages/provider-source/src/archive/limits.ts",
      "packages/registry/src/http",
    ],
    projects: ["base", "provider-source", "registry"],
  },
  {
    name: "archive",
    sources: ["packages/provider-source/src/archive"],
    projects: ["provider-source"],
  },
  {
    name: "queue",
    sources: ["apps/engine/src/queue"],
    projects: ["engine"],
    tests: ["apps/engine/src/queue/", "apps/engine/src/worker/"],
  },
];
