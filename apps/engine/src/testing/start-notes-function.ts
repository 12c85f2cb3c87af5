import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createLifecycleRunner, serveFunction } from "@stackwright/fg-bridge/function";
import { computed, createProvider, defineResource, required, types } from "@stackwright/mux/kit";
import { onTestFinished } from "vitest";

const PROJECT = "a".repeat(32);
/** Of the function that is served. */
export const URN = `urn:fss:local:${PROJECT}:function:default:notes:latest`;

/** A function with a provider, and the file for `--functions` that says where it is. The end of the test stops it. */
export async function startNotesFunction(): Promise<{ readonly table: string }> {
  const note = defineResource({
    attributes: {
      id: computed(types.string, { stable: true }),
      text: required(types.string),
    },
    create: () => ({ id: "one" }),
    update: () => ({}),
    delete: () => undefined,
  });
  const runner = createLifecycleRunner({
    name: "notes",
    create: () =>
      createProvider({
        config: {},
        configure: () => undefined,
        resources: { notes_note: note },
      }),
  });
  const server = await serveFunction({ runner, port: 0 });
  onTestFinished(async () => server[Symbol.asyncDispose]());
  const scratch = await mkdtempDisposable(join(tmpdir(), "notes-function-"));
  onTestFinished(() => scratch.remove());
  const table = join(scratch.path, "functions.json");
  const content = {
    projects: [PROJECT],
    functions: { [URN]: { url: server.url } },
    networks: ["127.0.0.0/8"],
  };
  await writeFile(table, JSON.stringify(content), { mode: 0o600 });
  return { table };
}
