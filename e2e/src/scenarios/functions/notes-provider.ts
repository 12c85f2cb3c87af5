import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import {
  computed,
  createProvider,
  defineResource,
  optional,
  ProviderFailure,
  required,
  types,
} from "@stackwright/mux/kit";
import type { LifecycleProvider } from "@stackwright/mux/router";

/** Forms of the provider: the second has one more attribute, and upgrades what the first one stored. */
type Release = 1 | 2;

/** The private provider of the scenarios: notes, which are files in a folder. */
export function createNotesProvider(folder: string, release: Release): LifecycleProvider {
  const place = (name: string | null | undefined) => join(folder, name ?? "");
  const common = {
    async read({ name }: { readonly name: string | null }) {
      const text = await readFile(place(name), "utf8").catch(() => undefined);
      return text === undefined ? undefined : { text };
    },
    async delete({ name }: { readonly name: string | null }) {
      await rm(place(name), { force: true });
    },
  };
  const attributes = {
    id: computed(types.string, { stable: true }),
    name: required(types.string, { replaces: true }),
    text: required(types.string),
  };
  const make = async (name: string | null | undefined, text: string | null | undefined) => {
    await mkdir(folder, { recursive: true });
    // An existing file must not be adopted.
    await writeFile(place(name), text ?? "", { flag: "wx" }).catch((cause: unknown) => {
      throw new ProviderFailure("Note not created", String(cause), { cause });
    });
    return { id: `id-${name}` };
  };
  const write = async (name: string | null | undefined, text: string | null | undefined) => {
    await writeFile(place(name), text ?? "");
    return {};
  };
  const first = defineResource({
    attributes,
    create: async ({ name, text }) => make(name, text),
    update: async ({ name, text }) => write(name, text),
    ...common,
  });
  const second = defineResource({
    attributes: { ...attributes, mood: optional(types.string) },
    version: 1,
    create: async ({ name, text }) => make(name, text),
    update: async ({ name, text }) => write(name, text),
    upgrade: (stored) => ({
      id: String(stored.id),
      name: String(stored.name),
      text: String(stored.text),
      mood: null,
    }),
    ...common,
  });
  return createProvider({
    config: {},
    configure: () => undefined,
    resources: { notes_note: release === 1 ? first : second },
  });
}
