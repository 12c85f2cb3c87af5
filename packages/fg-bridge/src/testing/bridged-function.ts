import type { PluginTransport } from "@stackwright/tfplugin";
import type { CallerOptions } from "../caller/caller-options.ts";
import { FunctionCaller } from "../caller/function-caller.ts";
import {
  type FunctionServer,
  type FunctionServerOptions,
  serveFunction,
} from "../function/function-server.ts";
import type { ProviderRunner } from "../function/provider-runner.ts";
import { FunctionTargetTable } from "../target/target-table.ts";

/** Project and URN of functions in tests. */
export const TEST_PROJECT = "a61dfe3154de42829367056598d5040f";
export const TEST_URN = `urn:fss:cn-north-7:${TEST_PROJECT}:function:default:test:latest`;

export interface BridgedFunction extends AsyncDisposable {
  readonly server: FunctionServer;
  readonly table: FunctionTargetTable;
  /** A transport of its own, as for one provider configuration. */
  connect(): PluginTransport;
}

export interface BridgedOptions {
  readonly runner: ProviderRunner;
  readonly server?: Partial<FunctionServerOptions>;
  readonly caller?: CallerOptions;
}

/** A provider behind a function on this machine, and a caller in front of it. */
export async function startBridgedFunction(options: BridgedOptions): Promise<BridgedFunction> {
  const { runner, server: serverOptions, caller: callerOptions } = options;
  const server = await serveFunction({ runner, port: 0, ...serverOptions });
  const table = new FunctionTargetTable({
    functions: { [TEST_URN]: { url: server.url } },
    guard: { allow: ["127.0.0.0/8"] },
  });
  const caller = new FunctionCaller(callerOptions);
  const target = table.resolve(TEST_URN, { projects: [TEST_PROJECT] });
  return {
    server,
    table,
    connect: () => caller.transport({ target }),
    async [Symbol.asyncDispose]() {
      await table.close();
      await server.close();
    },
  };
}
