import { TfpluginError } from "../errors.ts";
import type { PluginTransport, TransportCall } from "../transport/plugin-transport.ts";
import { PLUGIN_METHODS, type PluginMethods } from "../wire/methods.ts";

export interface ReloadingTransportOptions {
  /** Starts the provider as it is now. */
  readonly start: () => Promise<PluginTransport>;
  /** A start failed, and the provider from before is kept. @default drops it */
  readonly onProblem?: (error: unknown) => void;
}

/** A provider that can be started again under calls. */
export interface ReloadingTransport extends PluginTransport {
  /**
   * Starts the provider again; the next call does so by itself where the provider is gone or was asked to stop. New calls wait for it; calls under way end with the process that they began with. Where it does not
   * start, the one from before is kept and false is returned.
   */
  reload(): Promise<boolean>;
}

/** A process with the calls that it still has to answer. */
interface Running {
  readonly transport: PluginTransport;
  calls: number;
  isRetired: boolean;
}

/**
 * One provider for its callers that is another process after each reload, for authors who change it while it is in use. The
 * configuration that it was given last is given to each new process.
 */
export async function openReloadingTransport(
  options: ReloadingTransportOptions,
): Promise<ReloadingTransport> {
  return new Reloading(await options.start(), options);
}

/** Errors of a process that is there no longer. */
const GONE = [
  "TFPLUGIN_PROCESS_ENDED",
  "TFPLUGIN_PROCESS_CRASHED",
  "TFPLUGIN_CONNECTION_LOST",
] as const;

class Reloading implements ReloadingTransport {
  readonly protocol: 5 | 6;
  readonly #options: ReloadingTransportOptions;
  readonly #methods: PluginMethods;
  #running: Running;
  #configuration: Uint8Array | undefined;
  /** A provider that was asked to stop may refuse everything from then on, and one that is gone answers nothing. */
  #isSpent = false;
  #isClosed = false;
  #reloading: Promise<boolean> | undefined;
  readonly #ending = new Set<Promise<void>>();

  constructor(transport: PluginTransport, options: ReloadingTransportOptions) {
    this.protocol = transport.protocol;
    this.#methods = PLUGIN_METHODS[transport.protocol];
    this.#running = { transport, calls: 0, isRetired: false };
    this.#options = options;
  }

  async unary(method: string, request: Uint8Array, call: TransportCall): Promise<Uint8Array> {
    if (this.#isClosed) throw closed();
    if (method === this.#methods.stop.name) this.#isSpent = true;
    else if (this.#isSpent) {
      this.#isSpent = false;
      await this.reload();
    }
    await this.#reloading;
    const running = this.#running;
    running.calls += 1;
    try {
      const reply = await running.transport.unary(method, request, call);
      if (method === this.#methods.configure.name) this.#configuration = request;
      return reply;
    } catch (error) {
      if (GONE.some((code) => TfpluginError.is(error, code)) && running === this.#running) {
        this.#isSpent = true;
      }
      throw error;
    } finally {
      running.calls -= 1;
      this.#endWhenIdle(running);
    }
  }

  async reload(): Promise<boolean> {
    // Changes that come during a start are in that of the next reload.
    const before = this.#reloading ?? Promise.resolve(true);
    const next = before.then(async () => this.#start());
    this.#reloading = next;
    try {
      return await next;
    } finally {
      if (this.#reloading === next) this.#reloading = undefined;
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#reloading;
    await this.#running.transport.close();
    await Promise.all(this.#ending);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #start(): Promise<boolean> {
    if (this.#isClosed) return false;
    let transport: PluginTransport | undefined;
    try {
      transport = await this.#options.start();
      if (transport.protocol !== this.protocol) {
        const text = `it speaks protocol ${transport.protocol} now, and ${this.protocol} before; start again`;
        throw new TfpluginError("TFPLUGIN_PROTOCOL_UNSUPPORTED", text);
      }
      if (this.#configuration !== undefined) {
        await transport.unary(this.#methods.configure.name, this.#configuration, {});
      }
    } catch (error) {
      await transport?.close().catch(() => undefined);
      this.#options.onProblem?.(error);
      return false;
    }
    const before = this.#running;
    this.#running = { transport, calls: 0, isRetired: false };
    before.isRetired = true;
    this.#endWhenIdle(before);
    return true;
  }

  #endWhenIdle(running: Running): void {
    if (!running.isRetired || running.calls > 0) return;
    const ending = running.transport.close().catch((error: unknown) => {
      this.#options.onProblem?.(error);
    });
    this.#ending.add(ending);
    void ending.finally(() => this.#ending.delete(ending));
  }
}

function closed(): TfpluginError {
  return new TfpluginError("TFPLUGIN_CLOSED", "the provider was closed", {
    outcome: "not-applied",
  });
}
