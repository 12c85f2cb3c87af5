import { join } from "node:path";
import {
  type InstalledModules,
  MODULE_LOCK_NAME,
  ModuleInstaller,
  ModuleLock,
  readModuleLock,
} from "@stackwright/core";
import { PackageFetcher } from "@stackwright/core/modules";
import type { BundleFiles, RemoteModuleSource } from "@stackwright/lang";
import type { BlobStore } from "@stackwright/storage/blob";
import { TfpluginError } from "@stackwright/tfplugin";
import { type Fetch, loadCliConfiguration } from "@stackwright/tfplugin/install";
import { MAX_MODULE_LOCK } from "../domain/registry-query.ts";
import { accountModules } from "./account-modules.ts";
import type { ExecutionJob } from "./execution-job.ts";
import type { ExecutionHost } from "./executor.ts";
import { gitCredentials } from "./git-credentials.ts";

interface JobModuleParts {
  readonly job: ExecutionJob;
  readonly host: Pick<ExecutionHost, "readRegistry" | "onEvent">;
  readonly blobs: BlobStore;
  readonly files: BundleFiles;
  /** The folder of the root module. */
  readonly directory: string;
  /** The process's own environment. */
  readonly env: NodeJS.ProcessEnv;
  readonly signal: AbortSignal;
}

/** The modules of a configuration that a run has to fetch. */
interface JobModules {
  readonly packages: ModuleInstaller;
  /** Says what was fetched; returns the lock file of all modules, where anything was. */
  finish(root: Parameters<ModuleInstaller["finish"]>[0]): Promise<string | undefined>;
}

/** Addresses that one request may be sent on to. */
const MAX_REDIRECTS = 5;
/** What of the environment of the worker leads to other machines, and no more of it. */
const NETWORK = /^(?:PATH|(?:HTTPS?|NO|ALL)_PROXY|SSL_CERT_(?:FILE|DIR))$/i;

/**
 * The modules of a job: those that the configuration brings, and those that the run fetches with the rights that its stack has. The
 * registry of its account is read in the store. Other hosts are asked where the operator allows that, with the credentials that the variables
 * of the stack hold. Nothing of it is shared with another run, which may have other rights.
 */
export async function openJobModules(parts: JobModuleParts): Promise<JobModules> {
  const { job, host, files, directory } = parts;
  const own = await readModuleLock(join(directory, MODULE_LOCK_NAME));
  const { lock: planned } = job.modules ?? {};
  let fetcher: Promise<PackageFetcher> | undefined;
  const packages = new ModuleInstaller({
    files,
    directory,
    dataFolder: ".terraform",
    mode: job.modules === undefined ? "never" : "missing",
    // What the plan was made with is what is applied, also where a newer version appeared meanwhile.
    lock: planned === undefined ? own : ModuleLock.parse(planned),
    fetcher: () => (fetcher ??= openFetcher(parts)),
  });
  return {
    packages,
    async finish(root) {
      const { lock, installed } = await packages.finish(root, true);
      say(host, installed);
      if (installed.length === 0) return undefined;
      const text = lock.toString();
      if (text.length <= MAX_MODULE_LOCK) return text;
      throw new Error(
        `the configuration fetches too many modules: their lock file has more than ${MAX_MODULE_LOCK} characters`,
      );
    },
  };
}

function say(host: Pick<ExecutionHost, "onEvent">, installed: InstalledModules["installed"]): void {
  for (const { key, source, version } of installed) {
    const what = version === undefined ? source : `${source} ${version}`;
    const text = `Fetched module.${key.replaceAll(".", ".module.")} from ${what}`;
    void host.onEvent({ type: "log", source: "modules", level: "info", text }, Date.now());
  }
}

async function openFetcher({
  job,
  host,
  blobs,
  directory,
  env,
  signal,
}: JobModuleParts): Promise<PackageFetcher> {
  const { ownHosts = [], modules: { hosts = [] } = {} } = job;
  // The places of the operator's configuration, and no credential of it: those are of the stack alone.
  const places = await loadCliConfiguration({ env, cwd: directory });
  const { tokens } = await loadCliConfiguration({
    env: { HOME: job.folder, TF_CLI_CONFIG_FILE: "/dev/null", ...tokensOf(job.environment) },
    cwd: directory,
  });
  const allowed = new Set(hosts.map((one) => one.toLowerCase()));
  const network = Object.fromEntries(Object.entries(env).filter(([name]) => NETWORK.test(name)));
  const registry = accountModules({ host, blobs, ownHosts, signal });
  return PackageFetcher.open({
    cache: join(job.folder, "modules"),
    env: {
      ...network,
      HOME: job.folder,
      // Git asks its library for connections, which may not know the variable.
      ...(env["SSL_CERT_FILE"] !== undefined && { GIT_SSL_CAINFO: env["SSL_CERT_FILE"] }),
      ...gitCredentials(job.environment, hosts),
    },
    configuration: { ...places, tokens },
    signal,
    refuse: (source) => refusalOf(source, allowed, ownHosts),
    fetch: async (url, init) => (await registry(url)) ?? fetchAllowed(url, init, allowed),
  });
}

function tokensOf(environment: ExecutionJob["environment"]): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(environment).filter(([name]) => name.startsWith("TF_TOKEN_")),
  );
}

/**
 * How an address of a package begins whose host is the same for everyone who reads it: git takes `https://a\@b/` for one of the host `b`, and
 * the parser of addresses for one of `a`.
 */
const PLAIN = /^https:\/\/(?:[^\s/\\?#@]*@)?[a-z0-9.-]+(?::\d+)?(?:[/?]|$)/i;

/** Why a package is not fetched from an address; undefined where it may be. */
export function refusalOf(
  { getter, url }: RemoteModuleSource,
  allowed: ReadonlySet<string>,
  ownHosts: readonly string[],
): string | undefined {
  const address = URL.parse(url);
  if (!["git", "https"].includes(getter) || address?.protocol !== "https:" || !PLAIN.test(url)) {
    return "runs of the server fetch archives and repositories of git by https alone";
  }
  if (allowed.has(address.host) || (getter === "https" && ownHosts.includes(address.host))) {
    return undefined;
  }
  return notAllowed(address.host);
}

function notAllowed(host: string): string {
  return `runs of the server fetch no modules from ${host}; the operator allows a host with --module-host, or the configuration brings the module in .terraform/modules`;
}

/** Asks hosts that are allowed, and follows them to such hosts alone. A credential stays with its host. */
async function fetchAllowed(
  url: URL,
  init: Parameters<Fetch>[1],
  allowed: ReadonlySet<string>,
): Promise<Response> {
  const headers = new Headers(init.headers);
  let at = url;
  for (let hop = 0; hop <= MAX_REDIRECTS; hop += 1) {
    if (at.protocol !== "https:" || !allowed.has(at.host)) {
      throw new TfpluginError("TFPLUGIN_REGISTRY_INVALID", notAllowed(at.host));
    }
    const answer = await fetch(at, { ...init, headers, redirect: "manual" });
    const location = answer.headers.get("location");
    if (answer.status < 300 || answer.status > 399 || location === null) return answer;
    await answer.body?.cancel();
    const next = new URL(location, at);
    if (next.host !== at.host) headers.delete("authorization");
    at = next;
  }
  throw new TfpluginError(
    "TFPLUGIN_REGISTRY_INVALID",
    `more than ${MAX_REDIRECTS} addresses send to one another`,
  );
}
