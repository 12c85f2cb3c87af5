import { randomUUID } from "node:crypto";
import { mkdir, mkdtempDisposable, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createNotesProvider, type Gate, startGate } from "@stackwright/core/testing";
import type { BootstrapCredentials } from "@stackwright/engine";
import { type RunningServer, serve } from "@stackwright/engine";
import type { ServerOptions } from "@stackwright/engine/options";
import {
  createLifecycleRunner,
  type OperationJournal,
  openDirectoryJournal,
  serveFunction,
} from "@stackwright/fg-bridge/function";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { tryCommand } from "../testing/try-command.ts";

/*
 * What happens to a stack while its private provider lives: published, used, brought to another form, deleted, away. The state
 * lies in the store of the server, and so does the registry; functions are of this process and can be taken away.
 */

const REGION = "cn-north-7";
const PROJECT = "a61dfe3154de42829367056598d5040f";
const urnOf = (release: 1 | 2) =>
  `urn:fss:${REGION}:${PROJECT}:function:default:notes-v${release}:latest`;

/** Without frames and line breaks. */
const plain = (text: string) => text.replaceAll(/[\s│╷╵]+/g, " ");

let cleanup: AsyncDisposableStack;
let cwd: string;
let server: RunningServer;
let first: BootstrapCredentials;
let env: NodeJS.ProcessEnv;
/** What happens around calls of the providers. */
let around: (method: "plan" | "apply", call: () => Promise<unknown>) => Promise<unknown>;
/** The ways to the functions. */
let gates: Record<1 | 2, Gate>;

async function startFunction(release: 1 | 2, journal?: OperationJournal): Promise<Gate> {
  const runner = createLifecycleRunner({
    name: "notes",
    create: () => {
      const provider = createNotesProvider(join(cwd, "notes"), release);
      const plan = provider.plan.bind(provider);
      const apply = provider.apply.bind(provider);
      return Object.assign(provider, {
        plan: async (...given: Parameters<typeof plan>) =>
          around("plan", async () => plan(...given)),
        apply: async (...given: Parameters<typeof apply>) =>
          around("apply", async () => apply(...given)),
      });
    },
  });
  const started = await serveFunction({ runner, port: 0, ...(journal && { journal }) });
  return cleanup.use(await startGate(cleanup.use(started).url));
}

async function setUp(options: Partial<ServerOptions> = {}, journal?: OperationJournal) {
  gates = { 1: await startFunction(1, journal), 2: await startFunction(2) };
  const rows = ([1, 2] as const).map((release) => [urnOf(release), { url: gates[release].url }]);
  const table = {
    region: REGION,
    projects: [PROJECT],
    functions: Object.fromEntries(rows) as object,
    networks: ["127.0.0.0/8"],
  };
  await writeFile(join(cwd, "functions.json"), JSON.stringify(table));
  server = cleanup.use(
    await serve(
      {
        store: "memory:",
        port: 0,
        storagePort: 0,
        region: REGION,
        logLevel: "silent",
        bootstrapFile: join(cwd, "first.json"),
        functionsFile: join(cwd, "functions.json"),
        ...options,
      },
      { directory: cwd, env: {} },
    ),
  );
  first = JSON.parse(await readFile(join(cwd, "first.json"), "utf8")) as BootstrapCredentials;
  env = {
    STACKWRIGHT_STORE: server.storageAddress,
    STACKWRIGHT_TOKEN: first.token,
    STACKWRIGHT_FUNCTIONS: "functions.json",
  };
  await rfs("POST", "", {
    provider_name: "notes",
    provider_version: "1.0.0",
    function_graph_urn: urnOf(1),
  });
}

/** An operation of the RFS API. */
async function rfs(method: string, path: string, body?: object): Promise<Response> {
  return fetch(`${server.url}/v1/private-providers${path}`, {
    method,
    headers: {
      "x-auth-token": first.token,
      "client-request-id": randomUUID(),
      ...(body !== undefined && { "content-type": "application/json" }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
}

const publishSecond = async () =>
  rfs("POST", "/notes/versions", { provider_version: "2.0.0", function_graph_urn: urnOf(2) });

const uses = async () => {
  const answer = await fetch(`${server.url}/api/v1/registry/private-providers/notes/uses`, {
    headers: { "x-auth-token": first.token },
  });
  const found = (await answer.json()) as { uses: { version: string }[] };
  return found.uses.map(({ version }) => version);
};

const configure = async (version: string, names: readonly string[], more = "") =>
  writeFile(
    join(cwd, "main.tf"),
    `terraform {
       required_providers {
         notes = {
           source  = "huawei.com/private-provider/notes"
           version = "${version}"
         }
       }
     }
     ${names.map((name) => `resource "notes_note" "${name}" {\nname = "${name}"\ntext = "hello"\n${more}\n}`).join("\n")}\n`,
  );
const run = async (...words: string[]) => {
  const { code, output, error } = await tryCommand(words, { cwd, env });
  return { code, text: plain(output + error) };
};
const files = async () => (await readdir(join(cwd, "notes"))).toSorted();
/** Recorded objects with the versions of their schemas. */
const recorded = async () => {
  const { output } = await tryCommand(["show", "--json"], { cwd, env });
  const state = JSON.parse(output) as {
    values?: {
      root_module?: {
        resources?: { address: string; schema_version: number; values: object }[];
      };
    };
  };
  return state.values?.root_module?.resources ?? [];
};

beforeEach(async () => {
  cleanup = new AsyncDisposableStack();
  cwd = cleanup.use(await mkdtempDisposable(join(tmpdir(), "lifecycle-"))).path;
  await mkdir(join(cwd, "notes"));
  around = async (_method, call) => call();
});
afterEach(async () => {
  await cleanup.disposeAsync();
});

describe("a new version of a private provider", () => {
  it("imports what the old one stored, and is what the stack uses then", async () => {
    await setUp();
    await configure("1.0.0", ["a"]);
    expect(await run("up", "--yes")).toMatchObject({ code: 0 });
    expect(await recorded()).toMatchObject([{ schema_version: 0 }]);
    expect(await uses()).toEqual(["1.0.0"]);

    await publishSecond();
    await configure("2.0.0", ["a"], 'mood = "fine"');
    const up = await run("up", "--yes");
    expect(up.text).toContain('+ mood = "fine"');
    expect(up.text).toContain("0 added, 1 changed, 0 destroyed");
    expect(await recorded()).toMatchObject([{ schema_version: 1, values: { mood: "fine" } }]);
    expect(await uses()).toEqual(["2.0.0"]);

    // There is no way back: the old version does not know what the new one stored.
    await configure("1.0.0", ["a"]);
    const back = await run("plan");
    expect(back.code).toBe(1);
    expect(back.text).toContain("Use the newer version");
    expect(await recorded()).toMatchObject([{ schema_version: 1 }]);
  });

  it("replaces the old version also where nothing is to be changed", async () => {
    await setUp();
    await configure("1.0.0", ["a"]);
    await run("up", "--yes");
    await publishSecond();
    await configure("2.0.0", ["a"]);
    const up = await run("up", "--yes");
    expect(up).toMatchObject({ code: 0, text: expect.stringContaining("No changes") });
    expect(await recorded()).toMatchObject([{ schema_version: 1 }]);
    expect(await uses()).toEqual(["2.0.0"]);
  });
});

describe("the deletion of a version that a stack uses", () => {
  it("is refused where the policy says so, while a stack uses it", async () => {
    await setUp({ deleteUsed: "refuse" });
    await configure("1.0.0", ["a"]);
    await run("up", "--yes");
    for (const path of ["/notes/versions/1.0.0", "/notes"]) {
      const refused = await rfs("DELETE", path);
      expect(refused.status).toBe(403);
      expect(await refused.json()).toMatchObject({ error_msg: expect.stringContaining("in use") });
    }
    expect(await run("plan", "--detailed-exitcode")).toMatchObject({ code: 0 });
    await run("destroy", "--yes");
    expect((await rfs("DELETE", "/notes")).status).toBe(204);
  });

  it("is done with a warning by default; the stack says what is missing, and continues when it is back", async () => {
    await setUp();
    await configure("1.0.0", ["a"]);
    await run("up", "--yes");
    const deleted = await rfs("DELETE", "/notes/versions/1.0.0");
    expect(deleted.status).toBe(204);
    expect(deleted.headers.get("x-rfs-warning")).toContain(
      "the version was deleted while it is in use by default/default/",
    );

    for (const words of [["plan"], ["up", "--yes"], ["destroy", "--yes"]]) {
      const { code, text } = await run(...words);
      expect(code).toBe(1);
      expect(text).toContain('"notes" has no version 1.0.0');
    }
    expect(await recorded()).toHaveLength(1);
    expect(await files()).toEqual(["a"]);

    await rfs("POST", "/notes/versions", {
      provider_version: "1.0.0",
      function_graph_urn: urnOf(1),
    });
    expect(await run("plan", "--detailed-exitcode")).toMatchObject({ code: 0 });
    expect(await run("up", "--yes")).toMatchObject({ code: 0 });
    expect(await uses()).toEqual(["1.0.0"]);
  });
});

describe("a plan that was kept", () => {
  it("is refused when its version was deleted and published again, as another function or the same", async () => {
    await setUp();
    await configure("1.0.0", ["a"]);
    expect(await run("plan", "--out", "kept.json")).toMatchObject({ code: 0 });
    for (const release of [2, 1] as const) {
      expect((await rfs("DELETE", "/notes/versions/1.0.0")).status).toBe(204);
      const again = await rfs("POST", "/notes/versions", {
        provider_version: "1.0.0",
        function_graph_urn: urnOf(release),
      });
      expect(again.status).toBe(201);
      const { code, text } = await run("up", "kept.json", "--yes");
      expect(code).toBe(1);
      expect(text).toContain("another one was published under its number; make a new plan");
      expect(await files()).toEqual([]);
      expect(await recorded()).toEqual([]);
    }
    expect(await run("plan", "--out", "kept.json")).toMatchObject({ code: 0 });
    expect(await run("up", "kept.json", "--yes")).toMatchObject({ code: 0 });
    expect(await files()).toEqual(["a"]);
  });
});

describe("a function that is down", () => {
  it("ends a plan with its reason, leaves the state alone, and is forgotten when it is back", async () => {
    await setUp();
    await configure("1.0.0", ["a"]);
    await run("up", "--yes");
    const state = await recorded();
    await gates[1].shut();
    await configure("1.0.0", ["a", "b"]);
    const down = await run("up", "--yes");
    expect(down.code).toBe(1);
    expect(down.text).toContain("huawei.com/private-provider/notes");
    expect(down.text).toContain("ECONNREFUSED");
    expect(await recorded()).toEqual(state);
    expect(await files()).toEqual(["a"]);

    await gates[1].open();
    expect(await run("up", "--yes")).toMatchObject({
      code: 0,
      text: expect.stringContaining("1 added, 0 changed, 0 destroyed"),
    });
    expect(await files()).toEqual(["a", "b"]);
  });

  it("ends an apply with what was done, and the next run does the rest", async () => {
    await setUp();
    await configure("1.0.0", ["a", "b", "c"]);
    let applied = false;
    around = async (method, call) => {
      // Away after the first object, before anything of the second one.
      if (applied) void gates[1].shut();
      applied ||= method === "apply";
      return call();
    };
    const down = await run("up", "--yes", "--parallelism", "1");
    expect(down.code).toBe(1);
    expect(down.text).toContain("Partially applied: 1 added, 0 changed, 0 destroyed, 2 failed");
    expect(down.text).toContain("The next run continues from there");
    expect(down.text).toContain("ECONNREFUSED");
    expect(await files()).toEqual(["a"]);
    expect((await recorded()).map(({ address }) => address)).toEqual(["notes_note.a"]);

    around = async (_method, call) => call();
    await gates[1].open();
    const again = await run("up", "--yes");
    expect(again.code, again.text).toBe(0);
    expect(again.text).toContain("2 added, 0 changed, 0 destroyed");
    expect(await files()).toEqual(["a", "b", "c"]);
    expect(await run("plan", "--detailed-exitcode")).toMatchObject({ code: 0 });
  });

  it("leaves open what is not known where an answer was lost, and says what to look for", async () => {
    await setUp();
    await configure("1.0.0", ["a"]);
    around = async (method, call) => {
      const reply = await call();
      if (method === "apply") await gates[1].shut();
      return reply;
    };
    const down = await run("up", "--yes");
    expect(down.code).toBe(1);
    expect(down.text).toContain("notes_note.a: Unresolved, the result of the call is unknown");
    expect(down.text).toContain('Look for an object of type notes_note with name = "a"');
    expect(await files()).toEqual(["a"]);

    // It is not made a second time behind anybody's back.
    around = async (_method, call) => call();
    await gates[1].open();
    const again = await run("up", "--yes");
    expect(again.text).toContain("Outcome of an earlier operation is not known");
    expect(again.text).toContain("state resolve-absent");
    expect(await files()).toEqual(["a"]);

    // Somebody looked, and took the file away.
    await rm(join(cwd, "notes/a"));
    expect(await run("state", "resolve-absent", "notes_note.a", "--yes")).toMatchObject({
      code: 0,
    });
    expect((await run("up", "--yes")).text).toContain("1 added, 0 changed, 0 destroyed");
    expect(await run("plan", "--detailed-exitcode")).toMatchObject({ code: 0 });
  });

  it("is asked what became of a lost answer where it has a journal", async () => {
    await setUp({}, await openDirectoryJournal({ directory: join(cwd, "journal") }));
    await configure("1.0.0", ["a"]);
    let shut = false;
    around = async (method, call) => {
      const reply = await call();
      if (method !== "apply" || shut) return reply;
      shut = true;
      await gates[1].shut();
      setTimeout(() => void gates[1].open(), 300);
      return reply;
    };
    const up = await run("up", "--yes");
    expect(up.code, up.text).toBe(0);
    expect(up.text).toContain("1 added, 0 changed, 0 destroyed");
    expect(await files()).toEqual(["a"]);
    expect(await run("plan", "--detailed-exitcode")).toMatchObject({ code: 0 });
  });
});
