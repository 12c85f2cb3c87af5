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

/** Runs a provider of the kit, or any other lifecycle provider, in this process. */
export function createLifecycleRunner({ name, create }: LifecycleRunnerOptions): ProviderRunner {
  return {
    name,
    async start({ signal }): Promise<RunningProvider> {
      signal.throwIfAborted();
      const transport = serveLifecycleProvider(await create(), { protocol: 5 });
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
