import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import {
  computed,
  createProvider,
  defineResource,
  optional,
  required,
  types,
} from "@stackwright/mux/kit";
import type { LifecycleProvider } from "@stackwright/mux/router";

/** Schema versions of the provider: the second has one more attribute, and takes over what the first one stored. */
type NotesRelease = 1 | 2;

/** A provider of notes that are files in a folder. A note named `stuck` cannot be made. */
export function createNotesProvider(folder: string, release: NotesRelease = 1): LifecycleProvider {
  const pathOf = (name?: string | null) => join(folder, name ?? "");
  const write = async (name?: string | null, text?: string | null, flag = "w") => {
    if (name === "stuck") throw new Error("this note cannot be written");
    await writeFile(pathOf(name), text ?? "", { flag });
  };
  const common = {
    delete: async ({ name }: { readonly name: string | null }) => rm(pathOf(name), { force: true }),
  };
  const attributes = {
    id: computed(types.string, { stable: true }),
    name: required(types.string, { replaces: true }),
    text: required(types.string),
  };
  const first = defineResource({
    attributes,
    create: async ({ name, text }) => {
      await write(name, text, "wx");
      return { id: `id-${name}` };
    },
    update: async ({ name, text }) => {
      await write(name, text);
      return {};
    },
    ...common,
  });
  const second = defineResource({
    attributes: { ...attributes, mood: optional(types.string) },
    version: 1,
    create: async ({ name, text }) => {
      await write(name, text, "wx");
      return { id: `id-${name}` };
    },
    update: async ({ name, text }) => {
      await write(name, text);
      return {};
    },
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
