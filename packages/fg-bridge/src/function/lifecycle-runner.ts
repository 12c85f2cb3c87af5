import process from "node:process";
import type { LifecycleProvider } from "@stackwright/mux/router";
import { serveLifecycleProvider } from "@stackwright/tfplugin/serve";
import type { ProviderRunner, RunningProvider } from "./provider-runner.ts";
import { callProvider } from "./transport-provider.ts";

export interface LifecycleRunnerOptions {
  /** For messages. */
  readonly name: string;
  /** Makes a provider; one per request, as processes are. */
  readonly create: () => LifecycleProvider | Promise<LifecycleProvider>;
}

/**
 * Runs a provider of the kit, or any other lifecycle provider, in this process. Where it cannot be created, callers get
 * the message, and standard error the stack, as with every unexpected error of provider code in the kit.
 */
export function createLifecycleRunner({ name, create }: LifecycleRunnerOptions): ProviderRunner {
  return {
    name,
    async start({ signal }): Promise<RunningProvider> {
      signal.throwIfAborted();
      const provider = await made(name, create);
      const transport = serveLifecycleProvider(provider, { protocol: 5 });
      let ended: Promise<void> | undefined;
      const end = () => {
        ended ??= transport.close();
        return ended;
      };
      return {
        pid: undefined,
        get isAlive() {
          return ended === undefined;
        },
        call: (method, request, options) =>
          callProvider(transport, method, request, options.signal),
        end,
        [Symbol.asyncDispose]: end,
      };
    },
  };
}

async function made(
  name: string,
  create: LifecycleRunnerOptions["create"],
): Promise<LifecycleProvider> {
  try {
    return await create();
  } catch (error) {
    const text = error instanceof Error ? error.stack : String(error);
    process.stderr.write(`the provider ${name} could not be made: ${text}\n`);
    throw error;
  }
}
