import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { LOCAL_HOST } from "@stackwright/provider-source";
import { EngineError } from "../errors.ts";
import type {
  OpenedProviders,
  OpenedPulumiProgram,
  OpenProviderOptions,
  ProviderOrigin,
} from "./catalog.ts";
import { type LocalProvider, localName } from "./local-provider.ts";
import type { ProviderLog } from "./provider-log.ts";

/** A program of the protocol of 2017. The protocol has no schema, so that each needs one from outside. */
type CocorpcProgram = LocalProvider & { readonly schema: string };

export interface CocorpcOriginOptions {
  /** Programs by name; others are searched for in the folders. */
  readonly providers?: Readonly<Record<string, CocorpcProgram>>;
  /**
   * Folders with programs `coco-resource-<name>`, each with its schema next to it in `coco-resource-<name>.json`.
   * @default none
   */
  readonly directories?: readonly string[];
  /** From the start of a process to the line with its port, in milliseconds. @default 10_000 */
  readonly startTimeoutMs?: number;
  /** Is given every line that programs write to standard error (`debug`). @default drops it */
  readonly onLog?: (entry: ProviderLog) => void;
}

/**
 * Providers of the protocol of 2017 that are programs on this machine, under sources `stackwright.local/cocorpc/<name>`.
 * A program prints the port that it serves on 127.0.0.1 as its first line; its schema is the text of a Pulumi package schema.
 */
export function cocorpcOrigin({
  providers = {},
  directories = [],
  startTimeoutMs = 10_000,
  onLog,
}: CocorpcOriginOptions = {}): ProviderOrigin {
  /** What the start of a program takes. */
  const prepare = async (source: string, { signal, secrets }: OpenProviderOptions) => {
    const name = localName(source, "cocorpc");
    if (name === undefined)
      throw new TypeError(`${source} does not begin with ${LOCAL_HOST}/cocorpc/`);
    const known = Object.hasOwn(providers, name) ? providers[name] : undefined;
    const program = known ?? (await programIn(directories, name));
    const late = AbortSignal.timeout(startTimeoutMs);
    const onLine = (text: string): void => {
      const message = secrets?.redact(text) ?? text;
      onLog?.({ provider: name, severity: "debug", message });
    };
    return [
      program,
      signal === undefined ? late : AbortSignal.any([late, signal]),
      onLine,
    ] as const;
  };
  return {
    name: "local providers of 2017",
    handles: (source) => localName(source, "cocorpc") !== undefined,
    async select({ address, constraints: wanted }): Promise<string> {
      if (wanted.items.length === 0) return Promise.resolve("");
      throw new EngineError(
        "ENGINE_PROVIDER_UNAVAILABLE",
        `Providers of the cocorpc protocol have no versions, so none matches "${wanted.toString()}". ` +
          `Remove the version constraint of ${address.toString()}.`,
      );
    },
    async open({ source }, how = {}): Promise<OpenedProviders> {
      const given = await prepare(source, how);
      const { startCocorpcProvider } = await import("./cocorpc-process.ts");
      return [{ name: source, provider: await startCocorpcProvider(...given) }];
    },
    async openPulumi({ source }, how = {}): Promise<OpenedPulumiProgram> {
      const given = await prepare(source, how);
      const { startCocorpcProgram } = await import("./cocorpc-process.ts");
      return startCocorpcProgram(...given);
    },
  };
}

/** The program of the first folder that has one with this name. */
async function programIn(directories: readonly string[], name: string): Promise<CocorpcProgram> {
  const program = `coco-resource-${name}`;
  for (const directory of directories) {
    const command = join(directory, program);
    const schema = await textOf(`${command}.json`);
    if (schema !== undefined) return { command, schema };
  }
  const where =
    directories.length === 0
      ? "no folder is named; the command takes folders from STACKWRIGHT_COCORPC_PLUGINS"
      : `searched in ${directories.join(", ")}`;
  throw new EngineError(
    "ENGINE_PROVIDER_UNAVAILABLE",
    `there is no ${program} with its schema ${program}.json beside it (${where})`,
  );
}

async function textOf(path: string): Promise<string | undefined> {
  return readFile(path, "utf8").catch((error: unknown) => {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    throw new EngineError("ENGINE_PROVIDER_UNAVAILABLE", `${path} cannot be read: ${code}`);
  });
}
