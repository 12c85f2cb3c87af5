/** An option of the command: where its value goes, how it is read, and what it means. */
interface ServeFlag {
  readonly path: readonly string[];
  readonly kind: "text" | "number" | "boolean" | "list" | "words";
  readonly help: string;
}

// Without the schema that checks the values, whose modules are many: every command loads this table for its help.

const FLAGS = {
  store: {
    path: ["store"],
    kind: "text",
    help: "address of the store: sqlite:FOLDER, postgres://, etcd:// or memory:",
  },
  "store-cache-mib": {
    path: ["storeCacheMib"],
    kind: "number",
    help: "MiB of what is watched in the store that are kept in memory; 128 by default, 0 for none",
  },
  host: { path: ["host"], kind: "text", help: "address to listen on; 127.0.0.1 by default" },
  port: { path: ["port"], kind: "number", help: "port of HTTP; 7400 by default, 0 for any" },
  "storage-port": {
    path: ["storagePort"],
    kind: "number",
    help: "port of the storage service; none by default, 0 for any",
  },
  region: {
    path: ["region"],
    kind: "text",
    help: "the region that this server is; functions of others are refused; local by default",
  },
  "public-host": {
    path: ["publicHost"],
    kind: "text",
    help: "host under which clients see this server, with its port unless that is 443",
  },
  "sign-in": {
    path: ["signInFile"],
    kind: "text",
    help: "file of the identity providers that users sign in with at the console",
  },
  "mirror-host": {
    path: ["mirrorHosts"],
    kind: "list",
    help: "further hosts that the mirror answers for",
  },
  "module-host": {
    path: ["moduleHosts"],
    kind: "list",
    help: "registry, repository or archive host from which runs fetch modules; none by default",
  },
  "upstream-host": {
    path: ["upstreamHosts"],
    kind: "list",
    help: "provider registry that is mirrored, as HOST or HOST=URL",
  },
  "upstream-namespace": {
    path: ["upstreamNamespaces"],
    kind: "list",
    help: "namespace of this server with the providers of a mirrored registry, as NAMESPACE=HOST or NAMESPACE=HOST/NAMESPACE",
  },
  "upstream-cache-mib": {
    path: ["upstreamCacheMib"],
    kind: "number",
    help: "MiB of mirrored packages that are kept for an account; unlimited by default",
  },
  "upstream-network": {
    path: ["upstreamNetworks"],
    kind: "list",
    help: "private network in which mirrored registries may be, such as 10.1.0.0/16",
  },
  "blob-directory": {
    path: ["blobDirectory"],
    kind: "text",
    help: "folder for blobs, for memory: and etcd://...?blobs=folder; blobs by default",
  },
  "tls-certificate": {
    path: ["tls", "certificateFile"],
    kind: "text",
    help: "certificate chain in PEM",
  },
  "tls-key": { path: ["tls", "keyFile"], kind: "text", help: "private key in PEM" },
  "without-tls": {
    path: ["withoutTls"],
    kind: "boolean",
    help: "listen for other machines in the clear, behind a proxy with TLS",
  },
  "without-console": {
    path: ["withoutConsole"],
    kind: "boolean",
    help: "serve neither console nor documentation; they are at /console/ and /help/ otherwise",
  },
  "key-file": {
    path: ["keyFile"],
    kind: "text",
    help: "file with the key that encrypts stored secrets",
  },
  "key-variable": {
    path: ["keyVariable"],
    kind: "text",
    help: "environment variable with that key",
  },
  "key-command": { path: ["keyCommand"], kind: "words", help: "command that prints that key" },
  "former-key-file": {
    path: ["formerKeyFile"],
    kind: "text",
    help: "file with a key that only decrypts stored secrets",
  },
  "former-key-variable": {
    path: ["formerKeyVariable"],
    kind: "text",
    help: "environment variable with such a key",
  },
  "former-key-command": {
    path: ["formerKeyCommand"],
    kind: "words",
    help: "command that prints such a key",
  },
  "bootstrap-file": {
    path: ["bootstrapFile"],
    kind: "text",
    help: "file for the first token and access key, written if there are none yet",
  },
  executor: {
    path: ["executor"],
    kind: "text",
    help: "where runs are executed: in child processes (child, the default), containers (container), pods (kubernetes), the server (in-process, the default of memory:), or nowhere (none)",
  },
  "container-image": {
    path: ["container", "image"],
    kind: "text",
    help: "image of containers that steps are executed in, with stackwright of this release",
  },
  "container-command": {
    path: ["container", "command"],
    kind: "words",
    help: "command of the container engine, such as podman; docker by default",
  },
  "container-network": {
    path: ["container", "network"],
    kind: "text",
    help: "network of these containers; that of the engine by default",
  },
  "container-cpu-percent": {
    path: ["container", "cpuPercent"],
    kind: "number",
    help: "processor time of one of these containers, in percent of a core; no bound by default",
  },
  "container-volume": {
    path: ["container", "volumes"],
    kind: "list",
    help: "a further volume of these containers: /source:/target:ro",
  },
  "kubernetes-image": {
    path: ["kubernetes", "image"],
    kind: "text",
    help: "image of pods that steps are executed in, with stackwright of this release",
  },
  "kubernetes-namespace": {
    path: ["kubernetes", "namespace"],
    kind: "text",
    help: "namespace of these pods; stackwright-runs by default",
  },
  "kubernetes-template": {
    path: ["kubernetes", "template"],
    kind: "text",
    help: "file with a pod template for them, in YAML",
  },
  "kubernetes-address": {
    path: ["kubernetes", "address"],
    kind: "text",
    help: "host under which pods reach this process; its first address by default",
  },
  "kubernetes-port": {
    path: ["kubernetes", "port"],
    kind: "number",
    help: "port on which pods reach this process; 7440 by default",
  },
  "kubernetes-config": {
    path: ["kubernetes", "config"],
    kind: "text",
    help: "configuration of kubectl; by default KUBECONFIG, or the account of the pod",
  },
  "kubernetes-context": {
    path: ["kubernetes", "context"],
    kind: "text",
    help: "context in it; the current one by default",
  },
  "kubernetes-start-seconds": {
    path: ["kubernetes", "startSeconds"],
    kind: "number",
    help: "how long a pod may take to its first word; 600 by default",
  },
  "run-directory": {
    path: ["runDirectory"],
    kind: "text",
    help: "folder of the executors; runs in the store's by default",
  },
  "run-capacity": {
    path: ["runCapacity"],
    kind: "number",
    help: "steps of runs that are executed at the same time; the cores by default",
  },
  "run-plan-minutes": {
    path: ["runLimits", "planMinutes"],
    kind: "number",
    help: "how long a plan may take, or a recovery; 60 by default",
  },
  "run-shadow-minutes": {
    path: ["runLimits", "shadowMinutes"],
    kind: "number",
    help: "how long a plan of the engine beside that of a tool may take; 15 by default",
  },
  "run-apply-minutes": {
    path: ["runLimits", "applyMinutes"],
    kind: "number",
    help: "how long an apply may take; 360 by default",
  },
  "run-stop-seconds": {
    path: ["runLimits", "stopSeconds"],
    kind: "number",
    help: "what a step has to stop until it is ended; 300 by default",
  },
  "run-memory-mib": {
    path: ["runLimits", "memoryMib"],
    kind: "number",
    help: "MiB of memory of the processes of a step; half of the machine's by default",
  },
  "run-cpu-minutes": {
    path: ["runLimits", "cpuMinutes"],
    kind: "number",
    help: "minutes of processor time of the processes of a step that is executed in a child process; no bound by default",
  },
  "run-unclaimed-minutes": {
    path: ["runLimits", "unclaimedMinutes"],
    kind: "number",
    help: "how long a step waits for a worker until it is reported as stuck; 5 by default",
  },
  "run-silent-minutes": {
    path: ["runLimits", "silentMinutes"],
    kind: "number",
    help: "how long nothing is heard of a step until it is reported as stuck; 30 by default",
  },
  "vcs-folder": {
    path: ["vcsFolders"],
    kind: "list",
    help: "folder of this machine whose Git repositories may be connected; none by default",
  },
  "opa-command": {
    path: ["opaCommand"],
    kind: "words",
    help: "command that compiles policies written in Rego, such as opa; none by default",
  },
  "vcs-host": {
    path: ["vcsHosts"],
    kind: "list",
    help: "host in a private network that connections may call, fetch repositories from, and report to; none by default",
  },
  "vcs-copies-mib": {
    path: ["vcsCopiesMib"],
    kind: "number",
    help: "MiB of the copies of connected repositories on this server; 10,240 by default",
  },
  "notification-host": {
    path: ["notificationHosts"],
    kind: "list",
    help: "host in a private network that notifications may be sent to; none by default",
  },
  "otlp-endpoint": {
    path: ["otlpEndpoint"],
    kind: "text",
    help: "address of HTTP that traces are sent to, such as http://localhost:4318; none by default",
  },
  tool: {
    path: ["tools"],
    kind: "list",
    help: "program that plans and applies stacks which have it as their tool: terraform=/PATH, tofu@1.10.0=/PATH; none by default",
  },
  "provisioner-project": {
    path: ["provisionerProjects"],
    kind: "list",
    help: "projects whose runs may execute provisioners, as ACCOUNT/PROJECT; none by default",
  },
  functions: {
    path: ["functionsFile"],
    kind: "text",
    help: "table of functions: with it, providers behind functions are installed and checked",
  },
  "max-providers": {
    path: ["quotas", "providers"],
    kind: "number",
    help: "private providers per account; 100 by default",
  },
  "max-versions": {
    path: ["quotas", "versionsPerProvider"],
    kind: "number",
    help: "versions per provider; 100 by default",
  },
  "max-archive-bytes": {
    path: ["quotas", "archiveBytes"],
    kind: "number",
    help: "bytes of a published archive; 1 GiB by default",
  },
  "max-blob-bytes": {
    path: ["quotas", "blobBytes"],
    kind: "number",
    help: "bytes of all blobs of an account; no bound by default",
  },
  "history-commits": {
    path: ["history", "commits"],
    kind: "number",
    help: "newest commits that the store keeps for watches that resume; 16384 by default, not of an etcd store",
  },
  "history-mib": {
    path: ["history", "mib"],
    kind: "number",
    help: "most MiB of these commits; 64 by default, not of an etcd store",
  },
  "history-hours": {
    path: ["history", "hours"],
    kind: "number",
    help: "hours that these commits stay at most; any age by default, and as the cluster is set up of an etcd store",
  },
  "plan-days": {
    path: ["plans", "days"],
    kind: "number",
    help: "days that saved plans stay; 30 by default",
  },
  "plans-per-stack": {
    path: ["plans", "perStack"],
    kind: "number",
    help: "newest saved plans of a stack that stay; 100 by default",
  },
  "runs-per-stack": {
    path: ["runs", "perStack"],
    kind: "number",
    help: "newest ended runs of a stack that stay; 200 by default",
  },
  "run-days": {
    path: ["runs", "days"],
    kind: "number",
    help: "days that ended runs stay; 400 by default",
  },
  "run-log-days": {
    path: ["runs", "logDays"],
    kind: "number",
    help: "days that the events of ended runs stay; 90 by default",
  },
  "plan-wait-hours": {
    path: ["runs", "planWaitHours"],
    kind: "number",
    help: "hours that a run which only plans waits for a worker until it is canceled; 24 by default",
  },
  "delete-provider": {
    path: ["deleteProvider"],
    kind: "text",
    help: "what deleting a provider with versions does: cascade (the default) or refuse",
  },
  "delete-used": {
    path: ["deleteUsed"],
    kind: "text",
    help: "what deleting something that stacks use does: allow, warn (the default) or refuse",
  },
  tombstones: {
    path: ["tombstones"],
    kind: "boolean",
    help: "deleted version numbers stay taken; false by default",
  },
  "reserved-namespace": {
    path: ["reservedNamespaces"],
    kind: "list",
    help: "namespaces that operators alone grant, beyond the well-known ones",
  },
  "audit-days": {
    path: ["auditDays"],
    kind: "number",
    help: "days that audit entries are kept; 90 by default",
  },
  "rate-per-second": {
    path: ["rateLimit", "perSecond"],
    kind: "number",
    help: "requests per second and account; no limit by default",
  },
  "rate-burst": {
    path: ["rateLimit", "burst"],
    kind: "number",
    help: "requests of an account at once; by default those of 10 seconds",
  },
  "api-rate-per-second": {
    path: ["apiRateLimit", "perSecond"],
    kind: "number",
    help: "requests per second and credential to the API of runs; 200 by default",
  },
  "api-rate-burst": {
    path: ["apiRateLimit", "burst"],
    kind: "number",
    help: "requests of a credential at once to the API of runs; by default those of 10 seconds, which are 2,000",
  },
  "health-check-minutes": {
    path: ["healthCheckMinutes"],
    kind: "number",
    help: "how often functions are checked, up to four weeks; never by default",
  },
  "trust-proxy": {
    path: ["trustProxy"],
    kind: "boolean",
    help: "take the last address of X-Forwarded-For as the client's",
  },
  "log-level": {
    path: ["logLevel"],
    kind: "text",
    help: "fatal, error, warn, info, debug, trace or silent; info by default",
  },
  "drain-delay": {
    path: ["drainDelayMs"],
    kind: "number",
    help: "how long /readyz says no before connections are refused; 0 by default",
  },
  "drain-timeout": {
    path: ["drainTimeoutMs"],
    kind: "number",
    help: "how long requests in progress may continue; 30,000 by default",
  },
} as const satisfies Readonly<Record<string, ServeFlag>>;

/** The options of `stackwright serve`, by their names without dashes. */
export const SERVE_OPTIONS: Readonly<Record<string, ServeFlag>> = Object.freeze(FLAGS);

/** What an option means, for the help of the command and for the schema of the file of options. */
export function helpOf(name: keyof typeof FLAGS): string {
  return FLAGS[name].help;
}
