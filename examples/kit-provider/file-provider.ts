import { createHash } from "node:crypto";
import { readFile, rm, writeFile } from "node:fs/promises";
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

/** What the resources of this provider work with. */
interface Folder {
  readonly path: string;
}

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");

const file = defineResource({
  description: "A text file in the folder of the provider.",
  attributes: {
    name: required(types.string, { replaces: true }),
    content: optional(types.string),
    sha256: computed(types.string),
  },

  validate: ({ name }) =>
    name?.includes("/") === true
      ? [{ severity: "error", summary: "Invalid name", detail: "A name holds no slash." }]
      : [],

  // The hash of a content that is known already now need not wait for the apply.
  plan({ planned, set }) {
    if (planned.content !== undefined) set({ sha256: sha256(planned.content ?? "") });
  },

  async create({ name, content }, { client }: { client: Folder }) {
    // "wx" fails when the file exists: an existing file must not be adopted.
    await writeFile(join(client.path, name ?? ""), content ?? "", { flag: "wx" }).catch(
      (cause: unknown) => {
        throw new ProviderFailure("File not created", String(cause), { cause });
      },
    );
    return { sha256: sha256(content ?? "") };
  },

  async read({ name }, { client }) {
    const content = await readFile(join(client.path, name), "utf8").catch(() => undefined);
    return content === undefined ? undefined : { content, sha256: sha256(content) };
  },

  async update({ name, content }, _prior, { client }) {
    await writeFile(join(client.path, name ?? ""), content ?? "");
    return { sha256: sha256(content ?? "") };
  },

  async delete({ name }, { client }) {
    await rm(join(client.path, name), { force: true });
  },
});

/** A provider of text files, in a page of code. */
export function createFileProvider(): LifecycleProvider {
  return createProvider({
    config: { folder: required(types.string) },
    configure: ({ folder }): Folder => ({ path: folder }),
    resources: { demo_file: file },
  });
}
