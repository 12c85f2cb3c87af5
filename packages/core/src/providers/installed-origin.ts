import type { ProviderReference } from "@stackwright/mux/router";
import type { SchemaCache, SchemaStore } from "@stackwright/tfplugin";
import type { InstalledProvider } from "@stackwright/tfplugin/install";
import type { LaunchTerraformOptions } from "@stackwright/tfplugin/launch";
import { redactLog, redactLogger } from "../secrets/redact-log.ts";
import type { OpenedProviders, OpenProviderOptions, ProviderOrigin } from "./catalog.ts";
import type { ProviderLog } from "./provider-log.ts";

export interface InstalledOriginOptions {
  /** By full source, as an installation returns them. */
  readonly providers: ReadonlyMap<
    string,
    Pick<InstalledProvider, "version" | "executable"> & {
      /** Of the package; absent where the program may change. */
      readonly digest?: string;
    }
  >;
  /** How the processes are started. Their logs come without the secrets of the runs that use them. */
  readonly launch?: Omit<LaunchTerraformOptions, "command" | "signal" | "redact">;
  /** Schemas of programs that were asked before, by the digests of their packages. @default one of this origin */
  readonly schemaCache?: SchemaCache;
  /**
   * Folder where schemas are kept beyond the process, by the digests of packages. Who may write there may make a program out to be another
   * one: it belongs to one user. @default none
   */
  readonly schemaFolder?: string | undefined;
  /**
   * Receives what programs of installed packages say that their schemas are, as soon as they were asked and nothing about it was wrong. A
   * schema that switches of the environment may have changed is not among them. @default drops it
   */
  readonly onSchema?: (answered: AnsweredSchema) => void;
  /** Receives what providers log, without the secrets of the runs that use them. @default drops it */
  readonly onLog?: (entry: ProviderLog) => void;
}

/** The schema of a provider, as its program encoded it. */
export interface AnsweredSchema {
  readonly source: string;
  readonly version: string;
  /** Of Terraform's plugins. */
  readonly protocol: 5 | 6;
  /** The answer to `GetProviderSchema`. */
  readonly schema: Uint8Array;
}

const SEVERITIES = {
  trace: "debug",
  debug: "debug",
  info: "info",
  warn: "warning",
  error: "error",
} as const;

/** Terraform providers of protocol 5 and 6 that are installed on this machine. Every configuration has its own process. */
export function installedOrigin(options: InstalledOriginOptions): ProviderOrigin {
  const { providers, launch = {} } = options;
  let { schemaCache } = options;
  let schemaStore: SchemaStore | undefined;
  const digests = new Map<string, Promise<string>>();
  const digestOf = async (executable: string): Promise<string> => {
    const { fileDigest } = await import("@stackwright/tfplugin/pool");
    const known = digests.get(executable) ?? fileDigest(executable);
    digests.set(executable, known);
    return known;
  };
  return {
    name: "installed",
    handles: (source) => providers.has(source.toString()),
    select: async ({ address }) =>
      Promise.resolve(providers.get(address.toString())?.version?.toString() ?? ""),
    async open(
      { source }: ProviderReference,
      { signal, secrets }: OpenProviderOptions = {},
    ): Promise<OpenedProviders> {
      const installed = providers.get(source);
      if (installed === undefined) throw new TypeError(`${source} is not installed`);
      const { executable, digest } = installed;
      // A command whose providers are all built in needs none of this.
      const [
        { launchTerraformProvider },
        { createPluginClient, createSchemaCache, createSchemaFolder, schemaEnvironment },
      ] = await Promise.all([
        import("@stackwright/tfplugin/launch"),
        import("@stackwright/tfplugin"),
      ]);
      schemaCache ??= createSchemaCache();
      if (options.schemaFolder !== undefined) {
        schemaStore ??= createSchemaFolder(options.schemaFolder);
      }
      const provider = source.slice(source.lastIndexOf("/") + 1);
      const launched = await launchTerraformProvider({
        ...launch,
        onLog: (entry) => {
          launch.onLog?.(entry);
          options.onLog?.({
            provider,
            severity: SEVERITIES[entry.level],
            message: entry.message,
          });
        },
        command: executable,
        ...(signal && { signal }),
        ...(secrets && { redact: redactLog(secrets) }),
        ...(secrets && launch.logger && { logger: redactLogger(secrets, launch.logger) }),
      });
      try {
        // One without a digest is being developed: nothing is kept of it beyond this process. It does not change while it is installed
        // here; a cache that others use wants to know which one it was.
        const program =
          digest ?? (options.schemaCache === undefined ? executable : await digestOf(executable));
        // Experiments that are turned on by the environment may change the schema of one program.
        const switches = schemaEnvironment(launch.env ?? process.env);
        const schemaKey = switches === "" ? program : `${program} ${switches}`;
        const { version } = installed;
        const { onSchema } = options;
        const { protocol } = launched.transport;
        const listened =
          onSchema === undefined || version === undefined || switches !== ""
            ? schemaStore
            : told(schemaStore, (schema) =>
                onSchema({ source, version: version.toString(), protocol, schema }),
              );
        const client = createPluginClient(launched.transport, {
          schemaCache,
          schemaKey,
          ...(digest !== undefined && listened && { schemaStore: listened }),
        });
        return [
          {
            name: source,
            provider: client,
            check: async (end) => launched.checkHealth(end),
            ...(digest !== undefined && { digest }),
          },
        ];
      } catch (error) {
        await launched.close();
        throw error;
      }
    },
  };
}

/** A store that tells what is written to it; without one it keeps nothing. */
function told(store: SchemaStore | undefined, onSchema: (schema: Uint8Array) => void): SchemaStore {
  return {
    read: async (key) => store?.read(key),
    drop: async (key) => store?.drop(key),
    write: async (key, encoded) => {
      onSchema(encoded.schema);
      await store?.write(key, encoded);
    },
  };
}
