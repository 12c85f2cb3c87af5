import { createMux, createResourceProviderClient } from "@stackwright/mux";
import { runProvider } from "@stackwright/mux/host";
import { openChannel } from "@stackwright/proto/grpc";
import { echoProvider } from "./subjects.ts";

/*
 * A provider process: the echo provider itself, or with MUX_OF=<port>,<port>... a mux of the processes at those ports.
 */
const ports = (process.env.MUX_OF ?? "").split(",").filter((port) => port !== "");
await runProvider(async () => {
  if (ports.length === 0) return echoProvider(Number(process.env.SERVER ?? 0));
  return createMux({
    servers: ports.map((port) => ({
      name: `server ${port}`,
      connect: () =>
        createResourceProviderClient(openChannel({ host: "127.0.0.1", port: Number(port) })),
    })),
  });
});
process.exit(0);
