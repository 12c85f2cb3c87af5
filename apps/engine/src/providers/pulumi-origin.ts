import { join } from "node:path";
import type { HostOptions } from "@stackwright/mux/host";
import { liftPulumi } from "@stackwright/mux/router";
import type { ProviderAddress } from "@stackwright/provider-source";
import { EngineError } from "../errors.ts";
import { redactLogger, redactProcess } from "../secrets/redact-log.ts";
import type { OpenedProviders, ProviderOrigin } from "./catalog.ts";
import { LOCAL_HOST, type LocalProvider, localName } from "./local-provider.ts";

export interface PulumiOriginOptions {
  /** Programs by name; others are looked for in the folders, then in `PATH`, as `pulumi-resource-<name>`. */
  readonly providers?: Readonly<Record<string, LocalProvider>>;
  /** Folders with programs. @default none */
  readonly directories?: readonly string[];
  /** How the processes are hosted. What they write comes without the secrets of the runs that use them. */
  readonly host?: Omit<HostOptions, "command" | "args" | "signal" | "redact">;
}

/**
 * Providers of the Pulumi protocol that are programs on this machine, under sources `stackwright.local/pulumi/<name>`.
 * Their types are named after their tokens.
 */
export function pulumiOrigin({
  providers = {},
  directories = [],
  host = {},
}: PulumiOriginOptions = {}): ProviderOrigin {
  const nameOf = (source: ProviderAddress | string) => localName(source, "pulumi");
  return {
    name: "local Pulumi providers",
    handles: (source) => nameOf(source) !== undefined,
    select: async () => Promise.resolve(""),
    async open({ source }, { signal, secrets } = {}): Promise<OpenedProviders> {
      const name = nameOf(source);
      if (name === undefined)
        throw new TypeError(`${source} does not begin with ${LOCAL_HOST}/pulumi/`);
      const { hostProvider } = await import("@stackwright/mux/host");
      const program = `pulumi-resource-${name}`;
      const known = providers[name];
      const hosted = await startFirst(
        known === undefined
          ? [...directories.map((directory) => join(directory, program)), program]
          : [known.command],
        async (command) =>
          hostProvider({
            ...host,
            command,
            ...(known?.args !== undefined && { args: known.args }),
            ...(known?.env !== undefined && { env: known.env }),
            ...(signal && { signal }),
            ...(secrets && { redact: redactProcess(secrets) }),
            ...(secrets && host.logger && { logger: redactLogger(secrets, host.logger) }),
          }),
      );
      const provider = liftPulumi(hosted.provider, {
        ...(known?.schema !== undefined && { schema: known.schema }),
        close: async () => hosted.close(),
      });
      const check = async (): Promise<void> => {
        // One that is being started again is as good as another.
        if (hosted.state !== "ready" && hosted.state !== "restarting") throw ended(program);
      };
      return [{ name: source, provider, check }];
    },
  };
}

function ended(program: string): EngineError {
  return new EngineError("ENGINE_PROVIDER_UNAVAILABLE", `${program} has ended`);
}

/** Starts the first of several programs that exists. Rejects as the last one does. */
async function startFirst<T>(
  commands: readonly string[],
  start: (command: string) => Promise<T>,
): Promise<T> {
  let failure: unknown;
  for (const command of commands) {
    try {
      return await start(command);
    } catch (error) {
      failure = error;
      const missing =
        error instanceof Error && "code" in error && error.code === "MUX_PROCESS_NOT_FOUND";
      if (!missing) throw error;
    }
  }
  throw failure;
}
