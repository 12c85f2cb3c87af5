import { adaptPulumiProvider } from "@stackwright/mux/adapters";
import { createCocorpcClient, fromCocorpcProvider } from "@stackwright/mux/cocorpc";
import { findExecutable, LineSplitter, SupervisedProcess } from "@stackwright/mux/host";
import { type LifecycleProvider } from "@stackwright/mux/router";
import { openChannel } from "@stackwright/proto/grpc";
import { EngineError } from "../errors.ts";
import type { OpenedPulumiProgram } from "./catalog.ts";
import type { LocalProvider } from "./local-provider.ts";

/** From asking a program to end to killing it, in milliseconds. */
const GRACE_MS = 2_000;

/**
 * Starts a program of the protocol of 2017, which prints the port that it serves on 127.0.0.1 as its first line. Closing the
 * provider ends the program. `ENGINE_PROVIDER_UNAVAILABLE` where it does not say its port before the signal.
 */
export async function startCocorpcProvider(
  known: LocalProvider & { readonly schema: string },
  signal: AbortSignal,
  onLine: (text: string) => void = () => undefined,
): Promise<LifecycleProvider> {
  const { schema } = known;
  const program = await startCocorpcProgram(known, signal, onLine);
  return adaptPulumiProvider(program.provider, { schema, close: async () => program.close() });
}

/** The same as a provider of Pulumi's protocol. */
export async function startCocorpcProgram(
  known: LocalProvider & { readonly schema: string },
  signal: AbortSignal,
  onLine: (text: string) => void,
): Promise<OpenedPulumiProgram> {
  const started = await start(known, signal, onLine);
  const channel = openChannel({ host: "127.0.0.1", port: started.port });
  const close = async (): Promise<void> => {
    await channel[Symbol.asyncDispose]();
    await started.close();
  };
  const { schema } = known;
  return { provider: fromCocorpcProvider(createCocorpcClient(channel), { schema }), close };
}

interface Started {
  readonly port: number;
  close(): Promise<void>;
}

/** Starts a program and waits for its port. */
async function start(
  { command, args = [], env }: LocalProvider,
  signal: AbortSignal,
  onLine: (text: string) => void,
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
  const messages = new LineSplitter(onLine);
  const child = await SupervisedProcess.start({
    path,
    args,
    cwd: process.cwd(),
    env: environment,
    onStdout: (chunk) => lines.push(chunk),
    onStderr: (chunk) => messages.push(chunk),
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
