import type { TemplateNames } from "./template-names.ts";

/** The provider itself: one resource whose objects are files, to begin with. */
export function providerCode({ name, title }: TemplateNames): string {
  return `import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import {
  computed,
  createProvider,
  defineDataSource,
  defineResource,
  ProviderFailure,
  required,
  types,
} from "@stackwright/mux/kit";

/** What all resources work with: a connection to a service, or as here a folder. */
interface Settings {
  readonly folder: string;
}

/** A name is part of a path, so it holds nothing that leads elsewhere. */
const NAME = /^[a-zA-Z0-9][a-zA-Z0-9._-]{0,99}$/;

const place = ({ folder }: Settings, name: string): string => join(folder, \`\${name}.txt\`);

async function find(client: Settings, name: string): Promise<string | undefined> {
  if (!NAME.test(name)) return undefined;
  return readFile(place(client, name), "utf8").catch(() => undefined);
}

const note = defineResource({
  description: "A note in the folder of the provider.",
  attributes: {
    id: computed(types.string, { stable: true, description: "The name of the note." }),
    name: required(types.string, { replaces: true, description: "Name of the file." }),
    text: required(types.string, { description: "What the note says." }),
  },

  // Unknown values are undefined here: what cannot be checked yet is not checked.
  validate: ({ name }) =>
    name === undefined || name === null || NAME.test(name)
      ? []
      : [{ severity: "error", summary: "Invalid name", detail: \`A name matches \${String(NAME)}.\` }],

  async create({ name, text }, { client }: { client: Settings }) {
    // "wx" fails where the file exists: an existing file is not the object of this create.
    await writeFile(place(client, name ?? ""), text ?? "", { flag: "wx" }).catch(
      (cause: unknown) => {
        throw new ProviderFailure("Note not created", String(cause), { cause });
      },
    );
    return { id: name };
  },

  // undefined: it is gone.
  async read({ name }, { client }) {
    const text = await find(client, name);
    return text === undefined ? undefined : { text };
  },

  async update({ name, text }, _prior, { client }) {
    await writeFile(place(client, name ?? ""), text ?? "");
    return {};
  },

  // Succeeds for what is gone.
  async delete({ name }, { client }) {
    await rm(place(client, name), { force: true });
  },

  async import(id, { client }) {
    const text = await find(client, id);
    return text === undefined ? undefined : { id, name: id, text };
  },
});

const found = defineDataSource({
  description: "The text of a note.",
  attributes: {
    name: required(types.string, { description: "Name of the file." }),
    text: computed(types.string, { description: "What the note says, null where there is none." }),
  },
  async read({ name }, { client }: { client: Settings }) {
    return { text: (await find(client, name)) ?? null };
  },
});

/** Makes the provider; once for each process or request. */
export function create${title}Provider() {
  return createProvider({
    config: {
      folder: required(types.string, { description: "Where the notes are." }),
    },
    async configure({ folder }): Promise<Settings> {
      await mkdir(folder, { recursive: true });
      return { folder };
    },
    resources: { ${name}_note: note },
    dataSources: { ${name}_note: found },
  });
}
`;
}

/** The provider as a program of Terraform's plug-in protocol. */
export function mainCode({ title }: TemplateNames): string {
  return `#!/usr/bin/env node
import { serveLifecycleProvider, serveTerraformProvider } from "@stackwright/tfplugin/serve";
import { create${title}Provider } from "./provider.ts";

// The provider as a program, for both versions of the protocol.
await serveTerraformProvider({
  protocols: {
    5: () => serveLifecycleProvider(create${title}Provider(), { protocol: 5 }),
    6: () => serveLifecycleProvider(create${title}Provider(), { protocol: 6 }),
  },
});
`;
}

/** The provider as a program of Pulumi's protocol. */
export function pulumiCode({ name, title }: TemplateNames): string {
  return `import { toPulumiProvider } from "@stackwright/mux/adapters";
import { runProvider } from "@stackwright/mux/host";
import { create${title}Provider } from "./provider.ts";

// The provider as a plug-in of Pulumi. The program that \`stackwright provider package --pulumi\` makes sets the version.
const version = process.env.PROVIDER_VERSION ?? "0.0.0";
await runProvider(async () => toPulumiProvider(create${title}Provider(), { package: "${name}", version }));
process.exit(0);
`;
}

/** The provider behind an HTTP function. */
export function functionCode({ name, title }: TemplateNames): string {
  return `import {
  authenticateBearer,
  createLifecycleRunner,
  createMemoryJournal,
  openDirectoryJournal,
  serveFunction,
} from "@stackwright/fg-bridge/function";
import { create${title}Provider } from "./provider.ts";

const { HOST, PORT = "8000", JOURNAL, STACKWRIGHT_FUNCTION_TOKEN: token } = process.env;

// The provider as an HTTP function. The journal recognizes a create that is delivered twice: by this instance, or with a folder
// that all instances share (JOURNAL) by all of them.
await serveFunction({
  runner: createLifecycleRunner({ name: "${name}", create: create${title}Provider }),
  ...(HOST && { host: HOST }),
  port: Number(PORT),
  ...(token && { authenticate: authenticateBearer({ caller: token }) }),
  journal: JOURNAL ? await openDirectoryJournal({ directory: JOURNAL }) : createMemoryJournal(),
});
`;
}

/** A test that drives the provider in the process. */
export function testCode({ name, title }: TemplateNames): string {
  return `import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import { checkProvider } from "@stackwright/tfplugin/conformance";
import { ProviderDriver } from "@stackwright/tfplugin/testing";
import { create${title}Provider } from "./provider.ts";

test("keeps to what engines rely on", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "${name}-"));
  t.after(() => rm(folder, { recursive: true }));
  const { checks } = await checkProvider({
    open: async () => create${title}Provider(),
    samples: {
      settings: { folder },
      resources: {
        ${name}_note: {
          config: { name: "todo", text: "one" },
          update: { name: "todo", text: "two" },
          replace: { name: "other", text: "two" },
          import: "name",
        },
      },
      dataSources: { ${name}_note: { name: "absent" } },
    },
  });
  const wrong = checks.filter(({ findings }) => findings.length > 0);
  assert.deepEqual(wrong, []);
});

test("writes the text of a note, and finds a change that was made by hand", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "${name}-"));
  t.after(() => rm(folder, { recursive: true }));
  await using provider = create${title}Provider();
  const driver = await ProviderDriver.configure(provider, { folder });
  const config = { name: "todo", text: "Write a provider." };
  const made = await driver.apply(await driver.plan("${name}_note", config), config);
  assert.ok(made);
  assert.equal(await readFile(join(folder, "todo.txt"), "utf8"), "Write a provider.");
  await writeFile(join(folder, "todo.txt"), "changed");
  const read = await driver.refresh(made);
  const plan = await driver.plan("${name}_note", config, read);
  assert.equal(plan.action, "update");
});
`;
}
