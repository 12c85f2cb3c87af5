import { createHash } from "node:crypto";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join, normalize } from "node:path";
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
interface Site {
  readonly root: string;
}

const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");

/** A path below the root; a provider must not write anywhere else. */
function placeOf({ root }: Site, path: string): string {
  const clean = normalize(path);
  if (clean.startsWith("..") || clean.startsWith("/")) {
    throw new ProviderFailure("Path leaves the site", `"${path}" is not below the root.`);
  }
  return join(root, clean);
}

const page = defineResource({
  description: "A text file below the root of the site.",
  attributes: {
    path: required(types.string, { replaces: true }),
    content: optional(types.string),
    sha256: computed(types.string),
  },

  // The hash of a content that is known already need not wait for the apply.
  plan({ planned, set }) {
    if (planned.content !== undefined) set({ sha256: sha256(planned.content ?? "") });
  },

  async create({ path, content }, { client }: { client: Site }) {
    const place = placeOf(client, path ?? "");
    await mkdir(dirname(place), { recursive: true });
    // "wx" fails when the file exists: an existing file must not be adopted.
    await writeFile(place, content ?? "", { flag: "wx" }).catch((cause: unknown) => {
      throw new ProviderFailure("File not created", String(cause), { cause });
    });
    return { sha256: sha256(content ?? "") };
  },

  async read({ path }, { client }) {
    const content = await readFile(placeOf(client, path), "utf8").catch(() => undefined);
    return content === undefined ? undefined : { content, sha256: sha256(content) };
  },

  async update({ path, content }, _prior, { client }) {
    await writeFile(placeOf(client, path ?? ""), content ?? "");
    return { sha256: sha256(content ?? "") };
  },

  async delete({ path }, { client }) {
    await rm(placeOf(client, path), { force: true });
  },
});

/** Manages real files: what `npm start` deploys. */
export function createFilesProvider(): LifecycleProvider {
  return createProvider({
    config: { root: required(types.string) },
    configure: ({ root }): Site => ({ root }),
    resources: { files_page: page },
  });
}
