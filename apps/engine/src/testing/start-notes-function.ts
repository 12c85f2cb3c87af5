import { randomUUID } from "node:crypto";
import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createLifecycleRunner, serveFunction } from "@stackwright/fg-bridge/function";
import {
  computed,
  createProvider,
  defineResource,
  optional,
  required,
  types,
} from "@stackwright/mux/kit";
import { expect, onTestFinished } from "vitest";

const PROJECT = "a".repeat(32);
/** Of the functions that are served: the second one has another schema. */
export const URN = `urn:fss:local:${PROJECT}:function:default:notes:latest`;
export const LATER_URN = `urn:fss:local:${PROJECT}:function:default:notes:later`;

interface NotesOptions {
  /** What the creation of an object waits for. @default nothing */
  readonly gate?: Promise<unknown>;
  /** Called with the text of each note that the first function plans. @default nothing is done */
  readonly onPlan?: (text: unknown) => void;
}

/** Functions with a provider, and the file for `--functions` that says where they are. The end of the test stops them. */
export async function startNotesFunction({ gate, onPlan }: NotesOptions = {}): Promise<{
  readonly table: string;
}> {
  const life = {
    create: async () => {
      await gate;
      return { id: "one" };
    },
    update: () => ({}),
    delete: () => undefined,
  };
  const id = computed(types.string, { stable: true });
  const text = required(types.string);
  const note = defineResource({
    attributes: { id, text },
    plan: ({ config }) => onPlan?.(config.text),
    ...life,
  });
  const titled = defineResource({
    attributes: {
      id,
      text,
      title: required(types.string),
      tags: optional(types.list(types.string)),
    },
    ...life,
  });
  const share = defineResource({ attributes: { id, with: text }, ...life });
  const first = await serveNotes({ notes_note: note });
  const later = await serveNotes({ notes_note: titled, notes_share: share });
  const scratch = await mkdtempDisposable(join(tmpdir(), "notes-function-"));
  onTestFinished(() => scratch.remove());
  const table = join(scratch.path, "functions.json");
  const content = {
    projects: [PROJECT],
    functions: { [URN]: { url: first }, [LATER_URN]: { url: later } },
    networks: ["127.0.0.0/8"],
  };
  await writeFile(table, JSON.stringify(content), { mode: 0o600 });
  return { table };
}

type Resources = NonNullable<Parameters<typeof createProvider>[0]["resources"]>;

async function serveNotes(resources: Resources): Promise<string> {
  const runner = createLifecycleRunner({
    name: "notes",
    create: () =>
      createProvider({
        config: {},
        configure: () => undefined,
        resources,
      }),
  });
  const server = await serveFunction({ runner, port: 0 });
  onTestFinished(async () => server[Symbol.asyncDispose]());
  return server.url;
}

/** Registers the provider of the first function at a server, as version 1.0.0 of `notes`. */
export async function registerNotes(url: string, token: string): Promise<void> {
  const answer = await fetch(`${url}/v1/private-providers`, {
    method: "POST",
    headers: {
      "x-auth-token": token,
      "client-request-id": randomUUID(),
      "content-type": "application/json",
    },
    body: JSON.stringify({
      provider_name: "notes",
      provider_version: "1.0.0",
      function_graph_urn: URN,
    }),
  });
  expect(answer.status).toBeLessThan(300);
}
