import { variableLines, WORKER_VARIABLES } from "./option-variables.ts";

/** The options of `stackwright worker`, by their names without dashes; `bounds` are those of a number. */
export const WORKER_FLAGS = Object.freeze({
  server: { help: "address of the server, of several with commas (STACKWRIGHT_SERVER)" },
  "token-file": { help: "file with a token of the role worker (STACKWRIGHT_TOKEN)" },
  storage: { help: "storage service, where it is not at the server: stackwrights://HOST:PORT" },
  "ca-file": { help: "authorities of the server, in PEM (STACKWRIGHT_CA_FILE)" },
  directory: { help: "folder for bundles and installed providers (runs)" },
  capacity: { help: "steps at the same time (the cores of the machine)", bounds: [1, 1_000] },
  executor: {
    help: "child processes (child), containers (container) or pods (kubernetes); child by default",
  },
  "container-image": { help: "image of the containers, with stackwright of this release" },
  "container-command": { help: "command of the container engine (docker)" },
  "container-network": { help: "network of the containers (that of the engine)" },
  "container-cpu-percent": {
    help: "processor time of a container, in percent of a core (no bound)",
    bounds: [10, 102_400],
  },
  "container-volume": { help: "further volumes of the containers, with commas" },
  "kubernetes-image": { help: "image of the pods, with stackwright of this release" },
  "kubernetes-namespace": { help: "namespace of the pods (stackwright-runs)" },
  "kubernetes-template": { help: "file with a pod template, in YAML" },
  "kubernetes-address": { help: "host under which pods reach this worker (its first address)" },
  "kubernetes-port": { help: "port on which pods reach this worker (7440)", bounds: [0, 65_535] },
  "kubernetes-config": { help: "configuration of kubectl (KUBECONFIG, or the account of the pod)" },
  "kubernetes-context": { help: "context in it (the current one)" },
  "kubernetes-start-seconds": {
    help: "how long a pod may take to its first word (600)",
    bounds: [1, 86_400],
  },
  tool: { help: "programs that execute runs instead of the engine, with commas: terraform=/PATH" },
  "plan-minutes": { help: "how long a plan may take (60)", bounds: [1, 10_080] },
  "shadow-minutes": {
    help: "how long a plan beside that of a tool may take (15)",
    bounds: [1, 10_080],
  },
  "apply-minutes": { help: "how long an apply may take (360)", bounds: [1, 10_080] },
  "stop-seconds": { help: "from the request to stop to the end (300)", bounds: [1, 86_400] },
  "memory-mib": {
    help: "memory of the processes of a step (half of the machine's)",
    bounds: [128, 16_777_216],
  },
  "cpu-minutes": {
    help: "processor time of the processes of a step in a child process (no bound)",
    bounds: [1, 1_000_000],
  },
  "drain-seconds": {
    help: "how long applies may continue when the worker ends (1800)",
    bounds: [0, 86_400],
  },
  "health-port": {
    help: "answers /healthz and /readyz on this port; 0 takes any free one (nowhere)",
    bounds: [0, 65_535],
  },
  "health-host": { help: "address of that port (127.0.0.1)" },
  "otlp-endpoint": { help: "where traces are sent, such as http://localhost:4318 (nowhere)" },
  "log-level": { help: "fatal, error, warn, info, debug, trace or silent (info)" },
} as const);

export type WorkerFlag = keyof typeof WORKER_FLAGS;

/** The options as lines of a help page, and by which variables they are given. */
export function workerOptionLines(): string {
  const lines = Object.entries(WORKER_FLAGS)
    .map(([name, { help }]) => `  ${`--${name}`.padEnd(18)} ${help}\n`)
    .join("");
  return `${lines}\n${variableLines(WORKER_VARIABLES, "health-port")}`;
}
