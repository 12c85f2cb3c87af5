import { readFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { ProviderAddress } from "@stackwright/provider-source";
import { TfpluginError } from "../errors.ts";
import { AddressPattern } from "./address-pattern.ts";
import { type CliBlock, type CliBody, type CliValue, parseCliSyntax } from "./cli-syntax.ts";
import { type HttpClientOptions, isRecord } from "./http-client.ts";

/** Which providers a method of installation is for: those of `include` (or all), without those of `exclude`. */
export interface MethodScope {
  readonly include: readonly AddressPattern[] | undefined;
  readonly exclude: readonly AddressPattern[];
}

export type InstallationMethod = MethodScope &
  (
    | { readonly kind: "direct" }
    | { readonly kind: "filesystem_mirror"; readonly path: string }
    | { readonly kind: "network_mirror"; readonly url: string }
  );

/** What the command's configuration file says about providers. */
export interface CliConfiguration {
  /** Folder of a provider's program by address: used as it is, for every version that is asked for. */
  readonly devOverrides: ReadonlyMap<string, string>;
  /** In the order of the file; undefined where the file says nothing. */
  readonly methods: readonly InstallationMethod[] | undefined;
  readonly pluginCacheDir: string | undefined;
  /** Uses a cached package even where the lock file does not have its hash. */
  readonly cacheMayBreakLockFile: boolean;
  /** Service URLs by host (lower case), which take the place of discovery. */
  readonly hosts: ReadonlyMap<string, ReadonlyMap<string, string>>;
  /** Bearer tokens by host (lower case, with the port unless it is 443). */
  readonly tokens: ReadonlyMap<string, string>;
  /** How registries are asked. @default as `HttpClientOptions` says */
  readonly registryHttp?: Pick<HttpClientOptions, "retries" | "idleMs">;
}

/** The configuration without a file. */
export const EMPTY_CLI_CONFIGURATION: CliConfiguration = {
  devOverrides: new Map(),
  methods: undefined,
  pluginCacheDir: undefined,
  cacheMayBreakLockFile: false,
  hosts: new Map(),
  tokens: new Map(),
};

export interface CliConfigurationContext {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Relative paths start here. @default the present one */
  readonly cwd?: string;
}

/**
 * Reads the configuration of the person who runs a command: the file that `TF_CLI_CONFIG_FILE` names, else
 * `.terraformrc` in the home folder; the tokens that `login` has kept; then `TF_PLUGIN_CACHE_DIR` and `TF_TOKEN_*`, which
 * win. A file that is not there is an empty one; the command warns where a variable names it. `TFPLUGIN_CLI_CONFIG_INVALID`.
 *
 * Source: Terraform's CLI configuration file.
 */
export async function loadCliConfiguration(
  context: CliConfigurationContext,
): Promise<CliConfiguration> {
  const { env } = context;
  const home = nonEmpty(env.HOME) ?? homedir();
  const named = nonEmpty(env.TF_CLI_CONFIG_FILE) ?? nonEmpty(env.TERRAFORM_CONFIG);
  const path = named ?? join(home, ".terraformrc");
  const text = await readIfThere(path);
  const read =
    text === undefined ? EMPTY_CLI_CONFIGURATION : parseCliConfiguration(text, path, context);
  const store = join(home, ".terraform.d/credentials.tfrc.json");
  const stored = parseCredentials((await readIfThere(store)) ?? "{}", store);
  return withVariables({ ...read, tokens: new Map([...stored, ...read.tokens]) }, env);
}

async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, "utf8");
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    const why = `${path} cannot be read: ${(cause as Error).message}`;
    throw new TfpluginError("TFPLUGIN_CLI_CONFIG_INVALID", why, { cause });
  }
}

/** What `login` of the command keeps: `{"credentials": {"host": {"token": "..."}}}`. */
function parseCredentials(text: string, path: string): ReadonlyMap<string, string> {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (cause) {
    throw new TfpluginError("TFPLUGIN_CLI_CONFIG_INVALID", `${path} is not valid JSON`, { cause });
  }
  const hosts = isRecord(parsed) && isRecord(parsed.credentials) ? parsed.credentials : {};
  const tokens = Object.entries(hosts).map(
    ([host, entry]) => [hostKey(host), isRecord(entry) ? entry.token : undefined] as const,
  );
  return new Map(tokens.filter((pair): pair is [string, string] => typeof pair[1] === "string"));
}

/** Reads the text of a configuration file; settings that are not about providers are left alone. */
export function parseCliConfiguration(
  text: string,
  filename: string,
  context: CliConfigurationContext,
): CliConfiguration {
  return new Reader(filename, context).read(parseCliSyntax(text, filename));
}

class Reader {
  readonly #filename: string;
  readonly #env: CliConfigurationContext["env"];
  readonly #cwd: string;

  constructor(filename: string, { env, cwd = process.cwd() }: CliConfigurationContext) {
    this.#filename = filename;
    this.#env = env;
    this.#cwd = cwd;
  }

  read(file: CliBody): CliConfiguration {
    const installations = file.blocks.filter(({ type }) => type === "provider_installation");
    const [installation, second] = installations;
    if (second !== undefined)
      throw this.#invalid(second.line, "there can be one provider_installation block");
    const settings = new Map(file.attributes.map((attribute) => [attribute.name, attribute]));
    const cacheDir = settings.get("plugin_cache_dir");
    const mayBreak = settings.get("plugin_cache_may_break_dependency_lock_file");
    return {
      devOverrides: installation === undefined ? new Map() : this.#overrides(installation.body),
      methods: installation === undefined ? undefined : this.#methods(installation.body),
      pluginCacheDir:
        cacheDir === undefined
          ? undefined
          : this.#path(cacheDir.value, cacheDir.line, cacheDir.name),
      cacheMayBreakLockFile: mayBreak?.value === true,
      hosts: new Map(this.#labelled(file, "host").map((block) => this.#host(block))),
      tokens: new Map(this.#labelled(file, "credentials").map((block) => this.#token(block))),
    };
  }

  #labelled(file: CliBody, type: string): readonly CliBlock[] {
    return file.blocks.filter((block) => block.type === type);
  }

  #overrides({ blocks, attributes }: CliBody): ReadonlyMap<string, string> {
    const overrides = new Map<string, string>();
    for (const { name, line } of attributes) {
      throw this.#invalid(line, `${name} is not an installation method`);
    }
    for (const block of blocks.filter(({ type }) => type === "dev_overrides")) {
      for (const { name, value, line } of block.body.attributes) {
        let address: string;
        try {
          address = ProviderAddress.parse(name).toString();
        } catch (cause) {
          throw this.#invalid(
            line,
            `${JSON.stringify(name)} is not a valid provider address`,
            cause,
          );
        }
        overrides.set(address, this.#path(value, line, name));
      }
    }
    return overrides;
  }

  #methods({ blocks }: CliBody): readonly InstallationMethod[] {
    return blocks
      .filter(({ type }) => type !== "dev_overrides")
      .map((block): InstallationMethod => {
        const { type, line, body } = block;
        const scope = {
          include: this.#patterns(body, "include"),
          exclude: this.#patterns(body, "exclude") ?? [],
        };
        const known = { filesystem_mirror: "path", network_mirror: "url", direct: undefined }[type];
        for (const { name, line: at } of body.attributes) {
          if (![known, "include", "exclude"].includes(name)) {
            throw this.#invalid(at, `${type} has no argument ${name}`);
          }
        }
        if (type === "direct") return { kind: "direct", ...scope };
        const argument = body.attributes.find(({ name }) => name === known);
        if (argument === undefined || known === undefined) {
          const why =
            known === undefined
              ? `there is not an installation method ${type}`
              : `${type} needs ${known}`;
          throw this.#invalid(line, why);
        }
        if (type === "filesystem_mirror") {
          return { kind: type, path: this.#path(argument.value, argument.line, known), ...scope };
        }
        return {
          kind: "network_mirror",
          url: this.#httpsUrl(argument.value, argument.line),
          ...scope,
        };
      });
  }

  #patterns({ attributes }: CliBody, wanted: string): readonly AddressPattern[] | undefined {
    const found = attributes.find(({ name }) => name === wanted);
    if (found === undefined) return undefined;
    if (!Array.isArray(found.value)) throw this.#invalid(found.line, `${wanted} must be a list`);
    return found.value.map((item: CliValue) =>
      AddressPattern.parse(this.#text(item, found.line, wanted)),
    );
  }

  #host(block: CliBlock): [string, ReadonlyMap<string, string>] {
    const services = block.body.attributes.find(({ name }) => name === "services");
    const members = Object.entries(isObject(services?.value) ? services.value : {});
    return [
      this.#label(block),
      new Map(members.filter((entry): entry is [string, string] => typeof entry[1] === "string")),
    ];
  }

  #token(block: CliBlock): [string, string] {
    const token = block.body.attributes.find(({ name }) => name === "token");
    return [this.#label(block), this.#text(token?.value ?? "", block.line, "token")];
  }

  #label({ labels, line, type }: CliBlock): string {
    const [label, more] = labels;
    if (label === undefined || more !== undefined) {
      throw this.#invalid(line, `${type} needs one host name behind it`);
    }
    return hostKey(label);
  }

  #httpsUrl(value: CliValue, line: number): string {
    const text = this.#text(value, line, "url");
    if (URL.canParse(text) && new URL(text).protocol === "https:") return text;
    throw this.#invalid(line, `${JSON.stringify(text)} must be an https: URL`);
  }

  #path(value: CliValue, line: number, name: string): string {
    const text = this.#text(value, line, name);
    // As Go's os.ExpandEnv: a variable that is not set is empty.
    const expanded = text.replace(
      /\$(?:\{(\w+)\}|(\w+))/g,
      (_all, braced?: string, plain?: string) => {
        return this.#env[braced ?? plain ?? ""] ?? "";
      },
    );
    const isHome = expanded === "~" || expanded.startsWith("~/");
    const home = nonEmpty(this.#env.HOME) ?? homedir();
    return isHome ? join(home, expanded.slice(1)) : resolve(this.#cwd, expanded);
  }

  #text(value: CliValue, line: number, name: string): string {
    if (typeof value === "string") return value;
    throw this.#invalid(line, `${name} must be a text`);
  }

  #invalid(line: number, why: string, cause?: unknown): TfpluginError {
    const text = `${this.#filename}:${line}: ${why}`;
    return new TfpluginError("TFPLUGIN_CLI_CONFIG_INVALID", text, { cause });
  }
}

function withVariables(
  configuration: CliConfiguration,
  env: CliConfigurationContext["env"],
): CliConfiguration {
  const tokens = new Map(configuration.tokens);
  for (const [name, value] of Object.entries(env)) {
    if (!name.startsWith("TF_TOKEN_") || value === undefined) continue;
    // A dot is written as an underscore, a dash as two.
    const host = name.slice("TF_TOKEN_".length).replaceAll("__", "-").replaceAll("_", ".");
    tokens.set(hostKey(host), value);
  }
  const pluginCacheDir = nonEmpty(env.TF_PLUGIN_CACHE_DIR) ?? configuration.pluginCacheDir;
  const mayBreak = env.TF_PLUGIN_CACHE_MAY_BREAK_DEPENDENCY_LOCK_FILE ?? "";
  return {
    ...configuration,
    tokens,
    pluginCacheDir,
    cacheMayBreakLockFile: configuration.cacheMayBreakLockFile || !["", "0"].includes(mayBreak),
    registryHttp: registryHttpOf(env),
  };
}

/** How often a registry is asked again, and how long for, in seconds. */
function registryHttpOf({
  TF_REGISTRY_DISCOVERY_RETRY: retries,
  TF_REGISTRY_CLIENT_TIMEOUT: seconds,
}: CliConfigurationContext["env"]): NonNullable<CliConfiguration["registryHttp"]> {
  return {
    ...(nonEmpty(retries) !== undefined && {
      retries: numberOf("TF_REGISTRY_DISCOVERY_RETRY", retries),
    }),
    ...(nonEmpty(seconds) !== undefined && {
      idleMs: numberOf("TF_REGISTRY_CLIENT_TIMEOUT", seconds) * 1000,
    }),
  };
}

function numberOf(name: string, text: string | undefined): number {
  if (/^\d{1,6}$/.test(text ?? "")) return Number(text);
  const why = `${name} is "${text}", which is not a valid number`;
  throw new TfpluginError("TFPLUGIN_CLI_CONFIG_INVALID", why);
}

/** A host as maps of hosts have it. */
export function hostKey(host: string): string {
  return host.toLowerCase().replace(/:443$/, "");
}

function isObject(value: CliValue | undefined): value is Readonly<Record<string, CliValue>> {
  return typeof value === "object" && !Array.isArray(value);
}

function nonEmpty(text: string | undefined): string | undefined {
  return text === "" ? undefined : text;
}
