/*
 * A provider for tests, made with the provider kit. Its objects are files in the folder of its configuration, where it
 * also notes what it is asked to do: `calls` has a line per create, update and delete.
 */
import { randomUUID } from "node:crypto";
import { appendFile, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { Path } from "@stackwright/cty";
import {
  computed,
  createProvider,
  defineDataSource,
  defineFunction,
  defineResource,
  optional,
  PartialFailure,
  ProviderFailure,
  required,
  types,
} from "@stackwright/mux/kit";
import { serveLifecycleProvider } from "../../serve/lifecycle-transport.ts";
import { serveTerraformProvider } from "../../serve/serve-provider.ts";

class Store {
  readonly #directory: string;

  constructor(directory: string) {
    this.#directory = directory;
  }

  async note(call: string): Promise<void> {
    await mkdir(this.#directory, { recursive: true });
    await appendFile(join(this.#directory, "calls"), `${call}\n`);
  }

  async write(id: string, members: Stored): Promise<void> {
    await mkdir(this.#directory, { recursive: true });
    await writeFile(this.#path(id), JSON.stringify(members));
  }

  async read(id: string): Promise<Stored | undefined> {
    try {
      return JSON.parse(await readFile(this.#path(id), "utf8")) as Stored;
    } catch {
      return undefined;
    }
  }

  async remove(id: string): Promise<void> {
    await rm(this.#path(id), { force: true });
  }

  #path(id: string): string {
    return join(this.#directory, `${id}.json`);
  }
}

interface Stored {
  readonly name: string;
  readonly label: string | null;
  readonly revision: number;
}

const attributes = {
  name: required(types.string, { replaces: true }),
  label: optional(types.string),
  size: optional(types.exactNumber),
  text: optional(types.string),
  tags: optional(types.list(types.string)),
  flavours: optional(types.set(types.string)),
  notes: optional(types.map(types.string)),
  point: optional(types.object({ x: types.exactNumber, y: types.string })),
  anything: optional(types.any),
  secret: optional(types.string, { writeOnly: true }),
  behaviour: optional(types.string),
  id: computed(types.string, { stable: true }),
  revision: computed(types.number),
};

const thing = defineResource<typeof attributes, Store>({
  attributes,
  async create({ name, label = null, secret, behaviour }, { client, signal }) {
    const id = `${String(name)}-${randomUUID().slice(0, 8)}`;
    await client.note(
      `create ${String(name)}${secret === null ? "" : ` secret=${String(secret)}`}`,
    );
    if (behaviour === "fail") {
      throw new ProviderFailure("Out of toys", "None is left.", {
        attribute: Path.root.attribute("behaviour"),
      });
    }
    if (behaviour === "hang") await hang(client, signal);
    await client.write(id, { name: String(name), label: label, revision: 1 });
    if (behaviour === "partial") {
      throw new PartialFailure({ id, revision: 1 }, "Half a toy", "It lacks a wheel.");
    }
    return behaviour === "break" ? { id, revision: 1, label: "another" } : { id, revision: 1 };
  },
  async read({ id }, { client }) {
    const stored = await client.read(id ?? "");
    return stored && { label: stored.label, revision: stored.revision };
  },
  async update({ label = null }, { id, name, revision }, { client }) {
    await client.note(`update ${name}`);
    const next = (revision ?? 0) + 1;
    await client.write(id ?? "", {
      name,
      label,
      revision: next,
    });
    return { revision: next };
  },
  async delete({ id, name }, { client }) {
    await client.note(`delete ${name}`);
    await client.remove(id ?? "");
  },
  async import(id, { client }) {
    const stored = await client.read(id);
    return stored && { id, name: stored.name, label: stored.label, revision: stored.revision };
  },
});

async function hang(client: Store, signal: AbortSignal): Promise<never> {
  await client.note("hanging");
  try {
    await setTimeout(600_000, undefined, { signal });
  } catch {
    await client.note("stopped");
  }
  throw new ProviderFailure("Stopped", "The work was given up.");
}

const lookup = defineDataSource<
  { id: ReturnType<typeof required<string>>; name: ReturnType<typeof computed<string>> },
  Store
>({
  attributes: { id: required(types.string), name: computed(types.string) },
  async read({ id }, { client }) {
    const stored = await client.read(id ?? "");
    if (stored === undefined) throw new ProviderFailure("No such toy", `There is no ${id}.`);
    return { name: stored.name };
  },
});

const shout = defineFunction({
  parameters: [{ name: "text", type: types.string }],
  result: types.string,
  call: (text) => `${text.toUpperCase()}!`,
});

const provider = createProvider({
  config: { directory: required(types.string) },
  configure: ({ directory }) => new Store(directory ?? ""),
  resources: { toy_thing: thing },
  dataSources: { toy_lookup: lookup },
  functions: { shout },
});

function serve(protocol: 5 | 6) {
  // Some library that greets its users.
  process.stdout.write("a library says hello\n");
  return serveLifecycleProvider(provider, { protocol });
}

const only = process.argv[2];
await serveTerraformProvider({
  protocols: {
    ...(only !== "6" && { 5: () => serve(5) }),
    ...(only !== "5" && { 6: () => serve(6) }),
  },
});
