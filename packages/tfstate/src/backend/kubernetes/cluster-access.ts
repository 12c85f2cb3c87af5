import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, dirname, resolve } from "node:path";
import { promisify } from "node:util";
import { TfstateError } from "../../errors.ts";
import type { BackendArguments } from "../backend-arguments.ts";
import { requireNamedFile } from "../named-file.ts";
import type { OpenBackendOptions } from "../open-backend.ts";
import type { BackendCall } from "../state-backend.ts";
import { parseClusterFile } from "./cluster-file.ts";

/** How requests reach the API server of a cluster. */
export interface ClusterAccess {
  readonly server: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly security: {
    readonly ca?: string | undefined;
    readonly cert?: string | undefined;
    readonly key?: string | undefined;
    readonly insecure?: boolean | undefined;
    readonly serverName?: string | undefined;
  };
}

/** A program that makes credentials. */
interface ExecPlugin {
  readonly apiVersion: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

interface Found {
  server?: string | undefined;
  ca?: string | undefined;
  insecure?: boolean | undefined;
  /** Name in the certificate of the server. */
  serverName?: string | undefined;
  /** A proxy, which is not supported. */
  proxy?: string | undefined;
  token?: string | undefined;
  username?: string | undefined;
  password?: string | undefined;
  cert?: string | undefined;
  key?: string | undefined;
  exec?: ExecPlugin | undefined;
}

const POD = "/var/run/secrets/kubernetes.io/serviceaccount";
const EXEC_MS = 60_000;
const MAX_OUTPUT = 1024 * 1024;

/**
 * What the arguments of the backend, files of the form of kubectl, or the surroundings of a pod say about a cluster; arguments
 * win. Nothing is contacted yet.
 */
export function openCluster(
  configuration: BackendArguments,
  { directory, env, filesWithin, isIsolated = false }: OpenBackendOptions,
): (call: BackendCall) => Promise<ClusterAccess> {
  const found: Found = fromFiles(configuration, { directory, env, filesWithin });
  const inCluster = configuration.flag("in_cluster_config", "KUBE_IN_CLUSTER_CONFIG") ?? false;
  const server = configuration.text("host", "KUBE_HOST");
  if (isIsolated && inCluster) {
    throw configuration.invalid(
      '"in_cluster_config" (KUBE_IN_CLUSTER_CONFIG) is not available here: the account of the pod is not that of the stack; set "host" (KUBE_HOST) and "token" (KUBE_TOKEN)',
    );
  }
  if (!isIsolated && (inCluster || (server === undefined && found.server === undefined)))
    Object.assign(found, fromPod(env));
  const exec = configuration.block("exec");
  const given: Found = {
    server: server === undefined || server.includes("://") ? server : `https://${server}`,
    insecure: configuration.flag("insecure", "KUBE_INSECURE"),
    serverName: configuration.text("tls_server_name", "KUBE_TLS_SERVER_NAME"),
    proxy: configuration.text("proxy_url", "KUBE_PROXY_URL"),
    ca: configuration.text("cluster_ca_certificate", "KUBE_CLUSTER_CA_CERT_DATA"),
    token: configuration.text("token", "KUBE_TOKEN"),
    username: configuration.text("username", "KUBE_USER"),
    password: configuration.text("password", "KUBE_PASSWORD"),
    cert: configuration.text("client_certificate", "KUBE_CLIENT_CERT_DATA"),
    key: configuration.text("client_key", "KUBE_CLIENT_KEY_DATA"),
    exec: exec && {
      apiVersion: exec.need("api_version"),
      command: exec.need("command"),
      args: exec.texts("args") ?? [],
      env: exec.map("env") ?? {},
    },
  };
  const all: Found = {
    ...found,
    ...Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)),
  };
  const { server: address } = all;
  if (address === undefined) {
    throw configuration.invalid(
      'no cluster is named; set "config_path" (KUBE_CONFIG_PATH), "host" (KUBE_HOST) or "in_cluster_config"',
    );
  }
  if (isIsolated && all.exec !== undefined) {
    throw configuration.invalid(
      `the program "${all.exec.command}" for credentials is not executed here; set "token" (KUBE_TOKEN)`,
    );
  }
  if (all.proxy !== undefined) {
    throw configuration.invalid(
      'a proxy is not supported; remove "proxy_url" (KUBE_PROXY_URL), and "proxy-url" of the cluster in the configuration of kubectl',
    );
  }
  if (!URL.canParse(address)) throw configuration.invalid('"host" is not a valid URL');
  return async (call) => {
    const made =
      all.exec === undefined ? {} : await credentials(all.exec, { directory, env }, call);
    const { token, username, password, cert, key } = { ...all, ...made };
    const basic = Buffer.from(`${username ?? ""}:${password ?? ""}`).toString("base64");
    const authorization =
      token !== undefined ? `Bearer ${token}` : username !== undefined ? `Basic ${basic}` : "";
    return {
      server: address,
      headers: authorization === "" ? {} : { Authorization: authorization },
      security: { ca: all.ca, cert, key, insecure: all.insecure, serverName: all.serverName },
    };
  };
}

type Entry = Readonly<Record<string, unknown>>;

/** The selected context of files of kubectl; of equal names in several files the first one counts. */
function fromFiles(
  configuration: BackendArguments,
  { directory, env, filesWithin }: Omit<OpenBackendOptions, "isIsolated" | "maxBytes">,
): Found {
  const read = (path: string): string => {
    requireNamedFile(path, filesWithin, configuration);
    return fileText(configuration, path);
  };
  const single = configuration.text("config_path", "KUBE_CONFIG_PATH");
  const listed =
    configuration.texts("config_paths") ??
    (env["KUBE_CONFIG_PATHS"] ?? "").split(delimiter).filter((path) => path !== "");
  const paths = single === undefined ? listed : [single];
  const files = paths.map((path) => {
    const file = pathOf(path, { directory, env });
    return { folder: dirname(file), content: contentOf(configuration, file, read(file)) };
  });
  const entry = (list: string, name: unknown, member: string) => {
    for (const { folder, content } of files) {
      const entries = Array.isArray(content[list]) ? (content[list] as readonly Entry[]) : [];
      const match = entries.find((one) => one["name"] === name);
      if (match !== undefined) return { folder, value: objectOf(match[member]) };
    }
    return undefined;
  };
  const current =
    configuration.text("config_context", "KUBE_CTX") ??
    files.map(({ content }) => content["current-context"]).find((name) => name !== undefined);
  const context = entry("contexts", current, "context")?.value ?? {};
  const clusterName =
    configuration.text("config_context_cluster", "KUBE_CTX_CLUSTER") ?? context["cluster"];
  const userName =
    configuration.text("config_context_auth_info", "KUBE_CTX_AUTH_INFO") ?? context["user"];
  if (files.length > 0 && clusterName === undefined)
    throw configuration.invalid(
      `there is no context ${JSON.stringify(current)} in ${paths.join(", ")}`,
    );
  const cluster = entry("clusters", clusterName, "cluster");
  const user = entry("users", userName, "user");
  const text = (from: typeof cluster, name: string): string | undefined => {
    const value = from?.value[name];
    return typeof value === "string" && value !== "" ? value : undefined;
  };
  // Data in base64, or a file relative to the one that names it.
  const material = (from: typeof cluster, name: string): string | undefined => {
    const data = text(from, `${name}-data`);
    if (data !== undefined) return Buffer.from(data, "base64").toString("utf8");
    const path = text(from, name);
    if (path === undefined || from === undefined) return undefined;
    return read(resolve(from.folder, path));
  };
  const tokenFile = text(user, "tokenFile");
  const exec = user?.value["exec"] === undefined ? undefined : objectOf(user.value["exec"]);
  return {
    server: text(cluster, "server"),
    insecure: cluster?.value["insecure-skip-tls-verify"] === true,
    serverName: text(cluster, "tls-server-name"),
    proxy: text(cluster, "proxy-url"),
    ca: material(cluster, "certificate-authority"),
    token: text(user, "token") ?? (tokenFile === undefined ? undefined : read(tokenFile).trim()),
    username: text(user, "username"),
    password: text(user, "password"),
    cert: material(user, "client-certificate"),
    key: material(user, "client-key"),
    exec: exec && {
      apiVersion: String(exec["apiVersion"]),
      command: String(exec["command"]),
      args: Array.isArray(exec["args"]) ? exec["args"].map(String) : [],
      env: Object.fromEntries(
        (Array.isArray(exec["env"]) ? (exec["env"] as readonly Entry[]) : []).map(
          ({ name, value }) => [String(name), String(value)],
        ),
      ),
    },
  };
}

/** The account of the pod that the command runs in. */
function fromPod(env: NodeJS.ProcessEnv): Found {
  const host = env["KUBERNETES_SERVICE_HOST"] ?? "";
  if (host === "") return {};
  try {
    return {
      server: `https://${host.includes(":") ? `[${host}]` : host}:${env["KUBERNETES_SERVICE_PORT"] ?? "443"}`,
      ca: readFileSync(`${POD}/ca.crt`, "utf8"),
      token: readFileSync(`${POD}/token`, "utf8").trim(),
    };
  } catch {
    return {};
  }
}

/** Runs a program that prints credentials, as kubectl does. */
async function credentials(
  { apiVersion, command, args, env: further }: ExecPlugin,
  { directory, env }: OpenBackendOptions,
  { signal }: BackendCall,
): Promise<Pick<Found, "token" | "cert" | "key">> {
  const info = { apiVersion, kind: "ExecCredential", spec: { interactive: false } };
  try {
    const { stdout } = await promisify(execFile)(command, [...args], {
      cwd: directory,
      env: { ...env, ...further, KUBERNETES_EXEC_INFO: JSON.stringify(info) },
      timeout: EXEC_MS,
      maxBuffer: MAX_OUTPUT,
      ...(signal !== undefined && { signal }),
    });
    const { status = {} } = JSON.parse(stdout) as {
      readonly status?: Readonly<Record<string, string>>;
    };
    return {
      ...(status["token"] !== undefined && { token: status["token"] }),
      ...(status["clientCertificateData"] !== undefined && {
        cert: status["clientCertificateData"],
        key: status["clientKeyData"],
      }),
    };
  } catch {
    if (signal?.aborted === true) throw signal.reason;
    // What the program printed may hold credentials.
    throw new TfstateError(
      "TFSTATE_BACKEND_UNAVAILABLE",
      `backend "kubernetes": the program "${command}" gave no credentials`,
    );
  }
}

function pathOf(
  path: string,
  { directory, env }: Pick<OpenBackendOptions, "directory" | "env">,
): string {
  const home = env["HOME"] ?? homedir();
  return resolve(
    directory,
    path.replace(/^~(?=\/|$)/, () => home),
  );
}

function contentOf(configuration: BackendArguments, path: string, text: string): Entry {
  const content = parseClusterFile(text);
  if (content !== undefined) return content;
  throw configuration.invalid(`the file "${path}" is not valid YAML`);
}

function fileText(configuration: BackendArguments, path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    throw configuration.invalid(`the file "${path}" is not readable`);
  }
}

function objectOf(value: unknown): Entry {
  return typeof value === "object" && value !== null ? (value as Entry) : {};
}
