import process from "node:process";
import { runProvider } from "../../host/run-provider.ts";
import { unimplementedProvider } from "../../unimplemented-provider.ts";

/*
 * A provider process for tests: its resource `echo:index:Echo` gives back what it is given, under an id with the pid
 * of the process. Inputs are not read; the URN's name says how to behave: `crash` ends the process, `hang` never
 * answers, `log` sends a line to the engine.
 */

let configured = 0;
const schema = JSON.stringify({
  name: "echo",
  version: "1.0.0",
  resources: { "echo:index:Echo": {} },
});
const interval = process.env.ECHO_HEALTH_INTERVAL_MS;
process.stderr.write("echo starts\n");
const reason = await runProvider(
  (host) => ({
    ...unimplementedProvider(),
    getSchema: async () => ({ schema }),
    handshake: async () => ({
      acceptSecrets: true,
      acceptResources: true,
      acceptOutputs: true,
      supportsAutonamingConfiguration: false,
      acceptsByteString: false,
    }),
    configure: async () => {
      configured += 1;
      return {
        acceptSecrets: true,
        supportsPreview: true,
        acceptResources: true,
        acceptOutputs: true,
        supportsAutonamingConfiguration: false,
      };
    },
    create: async ({ urn, properties }) => {
      if (urn.endsWith("::crash")) process.exit(7);
      if (urn.endsWith("::hang")) await new Promise(() => undefined);
      if (urn.endsWith("::log")) await host.log({ severity: "warning", message: "created", urn });
      return {
        id: `${process.pid} configured ${configured}`,
        properties,
        refreshBeforeUpdate: false,
      };
    },
    cancel: async () => ({}),
  }),
  interval === undefined ? {} : { healthIntervalMs: Number(interval) },
);
process.stderr.write(`echo ends: ${reason}\n`);
