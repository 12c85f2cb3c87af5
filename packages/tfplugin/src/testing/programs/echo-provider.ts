/*
 * A provider for tests that knows nothing of providers: it answers what it is sent. Some methods have meanings of their
 * own, given by the first argument and by their names:
 *
 * GetMetadata    the environment, as JSON
 * ReadResource   what it is sent
 * PlanResourceChange   never answers
 * ApplyResourceChange  kills the process
 * CallFunction   answers as many bytes as it is told
 * ListResource   a stream of three messages
 */
import { setTimeout } from "node:timers/promises";
import { TfpluginError } from "../../errors.ts";
import { serveTerraformProvider } from "../../serve/serve-provider.ts";
import type { PluginTransport, TransportCall } from "../../transport/plugin-transport.ts";

const mode = process.argv[2] ?? "plain";

function createEcho(protocol: 5 | 6): PluginTransport {
  return {
    protocol,
    unary: answer,
    stream: async function* stream(_method, request) {
      for (let index = 0; index < 3; index += 1) yield await Promise.resolve(request);
    },
    close: () => Promise.resolve(),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

async function answer(
  method: string,
  request: Uint8Array,
  { signal }: TransportCall,
): Promise<Uint8Array> {
  switch (method) {
    case "GetMetadata":
      return Buffer.from(JSON.stringify(process.env));
    case "ReadResource":
      process.stdout.write("printed in a call\n");
      return request;
    case "PlanResourceChange":
      await setTimeout(600_000, undefined, { signal: signal ?? new AbortController().signal });
      return request;
    case "ApplyResourceChange":
      process.stderr.write("panic: out of luck\n");
      process.kill(process.pid, "SIGKILL");
      return setTimeout(1000, request);
    case "CallFunction":
      return new Uint8Array(Number(Buffer.from(request).toString()));
    default:
      throw new TfpluginError("TFPLUGIN_METHOD_UNIMPLEMENTED", `no ${method}`);
  }
}

if (mode === "stubborn") {
  process.on("SIGTERM", () => undefined);
  process.on("exit", () => {
    for (;;);
  });
}
await serveTerraformProvider({
  protocols:
    mode === "five"
      ? { 5: () => createEcho(5) }
      : {
          5: () => createEcho(5),
          6: () => {
            process.stdout.write("printed by a library\n");
            return createEcho(6);
          },
        },
});
