/** A benchmark of the repository, as `bench/all` runs it. */
export interface Job {
  readonly name: string;
  readonly what: string;
  /** Paths and arguments for Node, from the root of the repository. */
  readonly words: readonly string[];
  /** In place of `words` where the result is only compared with what is recorded. Without it the job is left out there. */
  readonly quick?: readonly string[];
  /** How much is measured in quick runs: variables of the benchmark. */
  readonly quickEnv?: Readonly<Record<string, string>>;
  /** Servers of `tools/servers`. */
  readonly servers?: string;
  /** Programs of `tools`, built where they are missing. */
  readonly tools?: string;
  /** After which it is ended. */
  readonly limitMinutes: number;
}

const GC = "--expose-gc";

/** In the order in which they run: what users see first. */
export const JOBS: readonly Job[] = [
  {
    name: "command",
    what: "the built command beside the reference command, by number of instances",
    words: ["bench/command/peer.ts", "--sizes", "1:7,100:5,1000:1"],
    quick: ["bench/command/peer.ts", "--sizes", "1:5,100:3"],
    tools: "terraform-provider-null",
    limitMinutes: 20,
  },
  {
    name: "command-large",
    what: "the same with 3,000 instances, for which the reference command takes minutes",
    words: ["bench/command/peer.ts", "--sizes", "3000:1", "--resource", "null_resource"],
    tools: "terraform-provider-null",
    limitMinutes: 20,
  },
  {
    name: "command-shapes",
    what: "configurations that are large in one respect, by the built command and the reference command",
    words: ["bench/command/scale.ts"],
    limitMinutes: 20,
  },
  {
    name: "command-provider",
    what: "one resource of a large provider, planned and validated by the built command and the reference command",
    words: ["bench/command/large-provider.ts"],
    limitMinutes: 10,
  },
  {
    name: "command-latency",
    what: "plans of resources whose reads are slow and limited, by the built command and the reference command",
    words: ["bench/command/latency.ts"],
    limitMinutes: 15,
  },
  {
    name: "command-modules",
    what: "modules from archives, installed and loaded by the built command and the reference command",
    words: ["bench/command/install-modules.ts"],
    limitMinutes: 15,
  },
  {
    name: "engine",
    what: "cost of an instance as their number grows",
    words: [GC, "bench/engine/run.ts", "1000", "10000", "50000"],
    limitMinutes: 10,
  },
  {
    name: "providers",
    what: "what a call to a provider costs the client, beside other clients",
    words: [GC, "bench/tfplugin/run.ts", "1"],
    quick: ["bench/tfplugin/run.ts", "0.2", "carrier"],
    tools: "terraform-provider-null,terraform-provider-random",
    limitMinutes: 10,
  },
  {
    name: "values",
    what: "values beside plain data with the platform's codecs",
    words: [GC, "bench/cty/run.ts"],
    quick: [GC, "bench/cty/run.ts", "object"],
    quickEnv: { BENCH_ROUNDS: "3" },
    limitMinutes: 10,
  },
  {
    name: "language",
    what: "reading and evaluating templates",
    words: [GC, "bench/lang/run.ts"],
    limitMinutes: 10,
  },
  {
    name: "editor",
    what: "what an editor waits for, by the modules of a repository",
    words: ["bench/lang-server/run.ts"],
    quick: ["bench/lang-server/run.ts", "50,150"],
    limitMinutes: 10,
  },
  {
    name: "plan-view",
    what: "views of plans beside writing the same values as JSON",
    words: [GC, "bench/plan-view/run.ts"],
    quick: [GC, "bench/plan-view/run.ts", "plans"],
    limitMinutes: 5,
  },
  {
    name: "messages",
    what: "codecs of messages beside protobufjs",
    words: ["bench/proto/run.ts"],
    limitMinutes: 10,
  },
  {
    name: "mux",
    what: "what the mux adds to a call",
    words: ["bench/mux/run.ts"],
    quick: ["bench/mux/run.ts", "2000", "inProcess"],
    limitMinutes: 10,
  },
  {
    name: "krt",
    what: "the reactive runtime beside code written by hand and other libraries",
    words: [GC, "bench/krt/run.ts"],
    quick: [GC, "bench/krt/run.ts", "B3", "B5"],
    limitMinutes: 30,
  },
  {
    name: "store",
    what: "the store on its engines beside bare drivers",
    words: [GC, "bench/storage/run.ts"],
    quick: [GC, "bench/storage/run.ts", "sqlite"],
    quickEnv: { BENCH_ROUNDS: "9" },
    servers: "postgres,etcd",
    limitMinutes: 30,
  },
  {
    name: "registry",
    what: "the registry's API beside a bare route with one read, archives beside their parts",
    words: [GC, "bench/registry/run.ts"],
    servers: "postgres",
    limitMinutes: 15,
  },
  {
    name: "server",
    what: "the server's API beside a bare route, runs by number of workers and beside the command, many at once",
    words: [
      "bench/server/run.ts",
      "api-sqlite",
      "api-postgres",
      "runs-sqlite",
      "overhead",
      "concurrency",
    ],
    servers: "postgres,etcd",
    limitMinutes: 25,
  },
  {
    name: "remote",
    what: "the reference command with its state at the server, beside the command alone",
    words: ["bench/remote/run.ts"],
    limitMinutes: 15,
  },
  {
    name: "functions",
    what: "providers in functions beside local ones",
    words: ["bench/fg-bridge/run.ts"],
    tools: "terraform-provider-random",
    limitMinutes: 10,
  },
  {
    name: "sources",
    what: "packages of providers: hashing and unpacking",
    words: ["bench/provider-source/run.ts"],
    limitMinutes: 10,
  },
];
