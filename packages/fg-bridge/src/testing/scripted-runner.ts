import { FgBridgeError } from "../errors.ts";
import type { ProviderRunner, RunningProvider, StartOptions } from "../function/provider-runner.ts";

/** One call that a scripted provider got. */
export interface ScriptedCall {
  /** Number of the start, from 1: what a pid is for a process. */
  readonly process: number;
  readonly method: string;
  readonly request: Uint8Array;
  /** What the process was configured with before; empty: it was not. */
  readonly configuration: Uint8Array;
}

export interface ScriptedOptions {
  /**
   * What a call answers. A method whose script throws fails with it. Rejections of `signal` are for scripts that
   * wait.
   *
   * @default the request, byte for byte
   */
  readonly script?: (
    call: ScriptedCall,
    signal: AbortSignal,
  ) => Promise<Uint8Array | undefined> | Uint8Array | undefined;
  /** Instead of a start. */
  readonly onStart?: (process: number, signal: AbortSignal) => Promise<void> | void;
}

/** A runner whose providers are scripts, with a record of everything that happened. */
export interface ScriptedRunner extends ProviderRunner {
  readonly calls: readonly ScriptedCall[];
  /** Starts so far. */
  readonly starts: number;
  /** Providers that were started and not ended. */
  readonly alive: number;
  /** Ends by force. */
  readonly kills: number;
}

/** For tests of the function side: providers without processes. */
export function createScriptedRunner(options: ScriptedOptions = {}): ScriptedRunner {
  const { script = () => undefined, onStart } = options;
  const calls: ScriptedCall[] = [];
  const counts = { starts: 0, alive: 0, kills: 0 };
  return {
    name: "scripted",
    calls,
    get starts() {
      return counts.starts;
    },
    get alive() {
      return counts.alive;
    },
    get kills() {
      return counts.kills;
    },
    async start({ signal }: StartOptions): Promise<RunningProvider> {
      signal.throwIfAborted();
      const process = ++counts.starts;
      await onStart?.(process, signal);
      counts.alive++;
      let configuration = new Uint8Array();
      let isAlive = true;
      const end = async ({ kill = false } = {}) => {
        if (isAlive) counts.alive--;
        if (isAlive && kill) counts.kills++;
        isAlive = false;
      };
      return {
        pid: process,
        get isAlive() {
          return isAlive;
        },
        async call(method, request, { signal: during }) {
          if (!isAlive) throw new FgBridgeError("FG_PROVIDER_DIED", "it has ended");
          during.throwIfAborted();
          const call = { process, method, request: request.slice(), configuration };
          calls.push(call);
          if (method === "Configure") configuration = request.slice();
          return (
            (await script(call, during)) ?? (method === "Configure" ? new Uint8Array() : request)
          );
        },
        end,
        [Symbol.asyncDispose]: () => end(),
      };
    },
  };
}
