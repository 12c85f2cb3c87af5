import { findExecutable, LineSplitter, SupervisedProcess } from "@stackwright/mux/host";
import { createLegacyClient } from "@stackwright/mux/legacy";
import { lift2017 } from "@stackwright/mux/router";
import { openChannel } from "@stackwright/proto/grpc";
import { EngineError } from "../errors.ts";
import type { OpenedProviders, ProviderOrigin } from "./catalog.ts";
import { LOCAL_HOST, type LocalProvider, localName } from "./local-provider.ts";

export interface LegacyOriginOptions {
  /** Programs by name. The protocol has no schema, so that each needs one from outside. */
  readonly providers: Readonly<Record<string, LocalProvider & { readonly schema: string }>>;
  /** From the start of a process to the line with its port, in milliseconds. @default 10_000 */
  readonly startTimeoutMs?: number;
}

/**
 * Providers of the protocol of 2017 that are programs on this machine, under sources `stackwright.local/cocorpc/<name>`.
 * A program prints the port that it serves on 127.0.0.1 as its first line.
 */
export function legacyOrigin({
  providers,
  startTimeoutMs = 10_000,
}: LegacyOriginOptions): ProviderOrigin {
  return {
    name: "local providers of 2017",
    handles: (source) => Object.hasOwn(providers, localName(source, "cocorpc") ?? ""),
    select: async () => Promise.resolve(""),
    async open({ source }, { signal } = {}): Promise<OpenedProviders> {
      const known = providers[localName(source, "cocorpc") ?? ""];
      if (known === undefined)
        throw new TypeError(`${source} does not begin with ${LOCAL_HOST}/cocorpc/`);
      const started = await start(
        known,
        AbortSignal.any([AbortSignal.timeout(startTimeoutMs), ...(signal ? [signal] : [])]),
      );
      const channel = openChannel({ host: "127.0.0.1", port: started.port });
      const close = async (): Promise<void> => {
        await channel[Symbol.asyncDispose]();
        await started.close();
      };
      const provider = lift2017(createLegacyClient(channel), { schema: known.schema, close });
      return [{ name: source, provider }];
    },
  };
}

/** From asking a program to end to killing it, in milliseconds. */
const GRACE_MS = 2_000;

interface Started {
  readonly port: number;
  close(): Promise<void>;
}

/** Starts a program and waits for its port. */
async function start(
  { command, args = [], env }: LocalProvider,
  signal: AbortSignal,
): Promise<Started> {
  const environment = { ...process.env, ...env };
  const path = await findExecutable(command, { cwd: process.cwd(), env: environment });
  const port = Promise.withResolvers<number>();
  const lines = new LineSplitter((line) => {
    const number = Number(line.trim());
    if (Number.isInteger(number) && number > 0 && number < 65_536) port.resolve(number);
    else
      port.reject(
        unavailable(`${command} printed "${line.slice(0, 80)}" where its port was expected`),
      );
  });
  const child = await SupervisedProcess.start({
    path,
    args,
    cwd: process.cwd(),
    env: environment,
    onStdout: (chunk) => lines.push(chunk),
    onStderr: () => undefined,
  });
  void child.exited.then(() =>
    port.reject(unavailable(`${command} ended before it said its port`)),
  );
  const onAbort = (): void => port.reject(unavailable(`${command} did not say its port in time`));
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    return { port: await port.promise, close: async () => void (await child.end(GRACE_MS)) };
  } catch (error) {
    await child.kill();
    throw error;
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

function unavailable(message: string): EngineError {
  return new EngineError("ENGINE_PROVIDER_UNAVAILABLE", message);
}
