import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import {
  computed,
  createProvider,
  defineResource,
  ProviderFailure,
  required,
  types,
} from "@stackwright/mux/kit";
import type { LifecycleProvider } from "@stackwright/mux/router";

/** A private provider: notes that are text files in one folder. It runs inside of a function. */
export function createNotesProvider(folder: string): LifecycleProvider {
  const placeOf = (name: string): string => {
    if (!/^[\w-]+$/.test(name)) {
      throw new ProviderFailure("Name not usable", `"${name}" has more than letters and digits.`);
    }
    return join(folder, `${name}.txt`);
  };
  const note = defineResource({
    description: "A text file in the folder of the function.",
    attributes: {
      id: computed(types.string, { stable: true, description: "The name of the file." }),
      name: required(types.string, { replaces: true }),
      text: required(types.string),
    },
    async create({ name, text }) {
      await mkdir(folder, { recursive: true });
      // "wx" fails when the file exists: an existing file must not be adopted.
      await writeFile(placeOf(name ?? ""), text ?? "", { flag: "wx" }).catch((cause: unknown) => {
        throw new ProviderFailure("Note not created", String(cause), { cause });
      });
      return { id: `${name}.txt` };
    },
    async read({ name }) {
      const text = await readFile(placeOf(name), "utf8").catch(() => undefined);
      return text === undefined ? undefined : { text };
    },
    async update({ name, text }) {
      await writeFile(placeOf(name ?? ""), text ?? "");
      return {};
    },
    async delete({ name }) {
      await rm(placeOf(name), { force: true });
    },
  });
  return createProvider({
    config: {},
    configure: () => undefined,
    resources: { notes_note: note },
  });
}
