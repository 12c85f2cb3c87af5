import { setTimeout as delay } from "node:timers/promises";
import {
  computed,
  createProvider,
  defineResource,
  ProviderFailure,
  required,
  types,
} from "@stackwright/mux/kit";
import { serveLifecycleProvider, serveTerraformProvider } from "@stackwright/tfplugin/serve";

/*
 * A provider whose reads ask a service that `API_URL` names. Where that refuses a call, as there were too many, it asks again, with pauses as
 * libraries of clouds make them: each twice as long as the one before, and a random part of that.
 */

const FIRST_PAUSE_MS = 200;
const LONGEST_PAUSE_MS = 5_000;
const ATTEMPTS = 25;

async function read(id: string): Promise<void> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const answer = await fetch(`${process.env.API_URL}/things/${id}`);
    await answer.arrayBuffer();
    if (answer.ok) return;
    await delay(Math.random() * Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** attempt));
  }
  throw new ProviderFailure("Throttled", `The service refused ${ATTEMPTS} calls.`);
}

await serveTerraformProvider({
  protocols: {
    6: () =>
      serveLifecycleProvider(
        createProvider({
          config: {},
          configure: () => undefined,
          resources: {
            slow_thing: defineResource({
              attributes: {
                name: required(types.string),
                id: computed(types.string, { stable: true }),
              },
              create: ({ name }) => ({ id: name }),
              read: async ({ name }) => {
                await read(name);
                return {};
              },
              update: () => ({}),
              delete: () => undefined,
            }),
          },
        }),
        { protocol: 6 },
      ),
  },
});
