/*
 * A provider for tests with one resource type, whose configuration says what goes wrong: `fault_thing.fault`. The first
 * argument may be `huge-schema`.
 */

import { setTimeout } from "node:timers/promises";
import {
  computed,
  createProvider,
  defineResource,
  ProviderFailure,
  required,
  types,
} from "@stackwright/mux/kit";
import { serveLifecycleProvider } from "../../serve/lifecycle-transport.ts";
import { serveTerraformProvider } from "../../serve/serve-provider.ts";
import type { PluginTransport } from "../../transport/plugin-transport.ts";

const SIZE = 64 * 1024 * 1024;

async function misbehave(fault: unknown, signal: AbortSignal): Promise<void> {
  if (fault === "die") process.kill(process.pid, "SIGKILL");
  if (fault === "die" || fault === "hang") {
    // Nothing that is aborted ends it, other than a well-behaved one.
    await setTimeout(600_000);
  }
  if (fault === "work") {
    await setTimeout(600_000, undefined, { signal }).catch(() => undefined);
    throw new ProviderFailure("Stopped");
  }
  if (fault === "shout") throw new ProviderFailure("Much to say", "x".repeat(16 * 1024 * 1024));
}

const provider = createProvider({
  config: {},
  configure: () => undefined,
  resources: {
    fault_thing: defineResource({
      ...(process.argv[2] === "huge-schema" && { description: "x".repeat(SIZE) }),
      attributes: {
        fault: required(types.string),
        plan_fault: required(types.string),
        id: computed(types.string),
      },
      plan: ({ planned }, { signal }) => misbehave(planned.plan_fault, signal),
      async create({ fault }, { signal }) {
        await misbehave(fault, signal);
        return { id: fault === "garble" ? "GARBLED" : "fine" };
      },
      delete: () => undefined,
    }),
  },
});

/** Bytes that are no UTF-8 where a text was. */
function garble(transport: PluginTransport): PluginTransport {
  return {
    protocol: transport.protocol,
    async unary(method, request, call) {
      const reply = Buffer.from(await transport.unary(method, request, call));
      const at = reply.indexOf("GARBLED");
      if (at !== -1) reply[at] = 0xff;
      return reply;
    },
    close: () => transport.close(),
    [Symbol.asyncDispose]: () => transport.close(),
  };
}

await serveTerraformProvider({
  protocols: { 6: () => garble(serveLifecycleProvider(provider, { protocol: 6 })) },
});
