import { existsSync } from "node:fs";
import { appendFile, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import {
  computed,
  createProvider,
  defineResource,
  optional,
  ProviderFailure,
  required,
  types,
} from "@stackwright/mux/kit";
import { serveLifecycleProvider, serveTerraformProvider } from "@stackwright/tfplugin/serve";

// `example.com/e2e/gate`: files whose making waits until a test opens a gate, which is a file as well. So a
// test knows where a run stands and never waits for a span of time.

interface Site {
  readonly root: string;
}

const POLL_MS = 20;

const gated = defineResource({
  attributes: {
    path: required(types.string, { replaces: true }),
    content: optional(types.string),
    /** Create, update and delete wait until this file is there. */
    gate: optional(types.string),
    /** Does not listen to the engine when it asks to stop. */
    deaf: optional(types.bool),
    /** Writes what it does to its log. */
    logs: optional(types.bool),
    secret: optional(types.string, { sensitive: true }),
    fails: optional(types.string),
    size: computed(types.number),
  },

  async create(planned, { client, signal }: { client: Site; signal: AbortSignal }) {
    const { path, content, logs } = planned;
    if (logs === true) process.stderr.write(`writes ${content ?? ""} to ${path ?? ""}\n`);
    await pass(client, "create", planned, signal);
    if (planned.fails !== undefined && planned.fails !== null) {
      throw new ProviderFailure("Not created on request", planned.fails);
    }
    const place = join(client.root, path ?? "");
    await mkdir(dirname(place), { recursive: true });
    await writeFile(place, content ?? "");
    return { size: (content ?? "").length };
  },

  async read({ path, content }, { client }) {
    const text = await readFile(join(client.root, path), "utf8").catch(() => undefined);
    if (text === undefined) return undefined;
    // Nothing that was configured and an empty text make the same file.
    return { content: text === "" ? content : text, size: text.length };
  },

  async update(planned, _prior, { client, signal }) {
    await pass(client, "update", planned, signal);
    await writeFile(join(client.root, planned.path ?? ""), planned.content ?? "");
    return { size: (planned.content ?? "").length };
  },

  async delete(state, { client, signal }) {
    await pass(client, "delete", state, signal);
    await rm(join(client.root, state.path), { force: true });
  },
});

/** Notes that a call has begun, and waits for its gate. */
async function pass(
  { root }: Site,
  call: string,
  attributes: {
    readonly path?: string | null | undefined;
    readonly gate?: string | null | undefined;
    readonly deaf?: boolean | null | undefined;
  },
  signal: AbortSignal,
): Promise<void> {
  const { path, gate, deaf } = attributes;
  await mkdir(root, { recursive: true });
  await appendFile(join(root, "calls.log"), `${call} ${path ?? ""}\n`);
  if (gate === undefined || gate === null) return;
  while (!existsSync(join(root, gate))) {
    // As a provider that crashes: the process is gone in the middle of all its calls.
    if (existsSync(join(root, "exit"))) process.exit(3);
    if (deaf !== true && signal.aborted) {
      throw new ProviderFailure("Stopped", `The ${call} of ${path ?? ""} was asked to stop.`);
    }
    await delay(POLL_MS);
  }
}

const provider = createProvider({
  config: { root: required(types.string) },
  configure: ({ root }): Site => ({ root }),
  resources: { gate_file: gated },
});

await serveTerraformProvider({
  protocols: { 5: () => serveLifecycleProvider(provider, { protocol: 5 }) },
});
