import { type Clock, systemClock } from "@stackwright/base/clock";
import { deferred } from "@stackwright/base/deferred";
import { MuxError } from "../errors.ts";
import { serveResourceProvider } from "../grpc/resource-provider-server.ts";
import { HostSlot } from "../host-client.ts";
import type { ResourceProvider } from "../resource-provider.ts";
import { dialEngine, type EngineClient } from "./engine-client.ts";
import { parseProviderArguments } from "./provider-arguments.ts";

export interface RunProviderOptions {
  /** @default the arguments of the process */
  readonly argv?: readonly string[];
  /** Is given the one line that the engine waits for, the port. @default writes it to standard output */
  readonly announce?: (line: string) => void;
  /** Time for the connection to the engine. @default 5_000 */
  readonly engineTimeoutMs?: number;
  /** How often the engine is asked whether it is still there. @default 30_000 */
  readonly healthIntervalMs?: number;
  /** How long calls may continue after the provider was asked to end. @default 5_000 */
  readonly graceMs?: number;
  /** Signals of the process that end it. @default SIGINT and SIGTERM */
  readonly stopSignals?: readonly NodeJS.Signals[];
  /** Ends it too. */
  readonly signal?: AbortSignal;
  /** @default the clock of the process */
  readonly clock?: Clock;
}

/** Why a provider process ended. */
export type StopReason = "asked" | "engine-gone";

/** A missed answer is asked for again after this, before the engine counts as gone. */
const SECOND_LOOK_MS = 1000;

/**
 * Makes a provider process of this process: serves the provider on a free port of 127.0.0.1, prints the port, and
 * resolves when it was asked to end or the engine has gone, after calls under way had their grace. It takes the
 * arguments that engines give. `make` gets the place in which the engine's connection stands; Attach replaces it.
 *
 * Nothing else may be written to standard output before the port is. Rejects with `MUX_ENGINE_UNREACHABLE` when the
 * engine that was named is not there.
 *
 * Source: Pulumi's launch protocol of providers.
 */
export async function runProvider(
  make: (host: HostSlot) => ResourceProvider | Promise<ResourceProvider>,
  options: RunProviderOptions = {},
): Promise<StopReason> {
  const { clock = systemClock, stopSignals = ["SIGINT", "SIGTERM"] } = options;
  const { engineAddress } = parseProviderArguments(options.argv ?? process.argv.slice(2));
  const announce = options.announce ?? ((line) => process.stdout.write(`${line}\n`));
  const stopped = deferred<StopReason>();
  const watch = new EngineWatch(clock, options.healthIntervalMs ?? 30_000, () =>
    stopped.resolve("engine-gone"),
  );
  const host = new HostSlot((address) => watch.dial(address, options.engineTimeoutMs ?? 5000));
  const stop = () => stopped.resolve("asked");
  for (const name of stopSignals) process.on(name, stop);
  options.signal?.addEventListener("abort", stop, { once: true });
  if (options.signal?.aborted === true) stop();
  try {
    if (engineAddress !== undefined) await host.replace(engineAddress);
    const provider = withAttach(await make(host), host);
    await using server = await serveResourceProvider(provider, { carrier: "frames" });
    const { address } = server;
    if ("socketPath" in address) throw new MuxError("MUX_OPTIONS_INVALID", "there is no port");
    announce(String(address.port));
    const reason = await stopped.promise;
    // How a provider that is ending takes Cancel changes nothing.
    await provider.cancel({}, {}).catch(() => undefined);
    await server.close({ graceMs: options.graceMs ?? 5000 });
    return reason;
  } finally {
    watch[Symbol.dispose]();
    for (const name of stopSignals) process.off(name, stop);
    options.signal?.removeEventListener("abort", stop);
    await host.close();
  }
}

/** Sees to it that Attach replaces the engine, also where the provider does not care for it. */
function withAttach(provider: ResourceProvider, host: HostSlot): ResourceProvider {
  const attach: ResourceProvider["attach"] = async (request, context) => {
    try {
      await provider.attach(request, context);
    } catch (error) {
      const isMissing = error instanceof Error && "code" in error && error.code === "UNIMPLEMENTED";
      if (!isMissing) throw error;
    }
    if (host.address !== request.address) await host.replace(request.address);
    return {};
  };
  return new Proxy(provider, {
    get: (target, name) => {
      if (name === "attach") return attach;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

/** Asks the engine that was dialled last whether it is still there. */
class EngineWatch implements Disposable {
  readonly #clock: Clock;
  readonly #intervalMs: number;
  readonly #onGone: () => void;
  #engine: EngineClient | undefined;
  #timer: Disposable | undefined;
  #isOver = false;

  constructor(clock: Clock, intervalMs: number, onGone: () => void) {
    this.#clock = clock;
    this.#intervalMs = intervalMs;
    this.#onGone = onGone;
  }

  async dial(address: string, timeoutMs: number): Promise<EngineClient> {
    const engine = await dialEngine(address, { timeoutMs });
    this.#engine = engine;
    this.#timer?.[Symbol.dispose]();
    this.#askLater(engine, this.#intervalMs, false);
    return engine;
  }

  [Symbol.dispose](): void {
    this.#isOver = true;
    this.#timer?.[Symbol.dispose]();
  }

  #askLater(engine: EngineClient, delayMs: number, missed: boolean): void {
    if (this.#isOver) return;
    const delay = missed ? Math.min(delayMs, SECOND_LOOK_MS) : delayMs;
    this.#timer = this.#clock.after(delay, () => {
      // Never rejects: an engine that cannot be asked is not alive.
      void this.#ask(engine, missed);
    });
  }

  async #ask(engine: EngineClient, missed: boolean): Promise<void> {
    const isAlive = await engine.isAlive();
    if (engine !== this.#engine || this.#isOver) return;
    if (isAlive || !missed) this.#askLater(engine, this.#intervalMs, !isAlive);
    else this.#onGone();
  }
}
