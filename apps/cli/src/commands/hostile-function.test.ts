import { once } from "node:events";
import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openStore } from "@stackwright/core";
import {
  createNotesProvider,
  type HostileFunction,
  type Mischief,
  startHostileFunction,
} from "@stackwright/core/testing";
import { createLifecycleRunner, serveFunction } from "@stackwright/fg-bridge/function";
import { createKeyRing, createRegistry } from "@stackwright/registry";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type CommandResult, tryCommand } from "../testing/try-command.ts";

const PROJECT = "a61dfe3154de42829367056598d5040f";
const URN = `urn:fss:cn-north-7:${PROJECT}:function:default:notes:latest`;
const TEMPLATE = `
terraform {
  required_providers {
    notes = {
      source  = "huawei.com/private-provider/notes"
      version = "1.0.0"
    }
  }
}
resource "notes_note" "a" {
  name = "one"
  text = "hello"
}
resource "terraform_data" "after" {
  input = notes_note.a.id
}
resource "terraform_data" "aside" {
  input = "independent"
}
`;

const answer =
  (status: number, body: string, headers: Readonly<Record<string, string>> = {}): Mischief =>
  async (response) => {
    response.writeHead(status, headers).end(body);
    return Promise.resolve();
  };
const envelope = (bytes: readonly number[], error = ""): string =>
  JSON.stringify({ response_data: Buffer.from(bytes).toString("base64"), error });
const drop: Mischief = async (response) => {
  response.destroy();
  return Promise.resolve();
};
const huge: Mischief = async (response) => {
  const closed = new AbortController();
  response.once("close", () => closed.abort());
  response.writeHead(200);
  const chunk = Buffer.alloc(1024 * 1024, "a");
  for (let sent = 0; sent < 64; sent += 1) {
    if (!response.write(chunk)) await once(response, "drain", { signal: closed.signal });
  }
  response.end();
};

/** Answers that are none, and what a person reads of each. */
const ANSWERS: readonly (readonly [what: string, mischief: Mischief, text: RegExp])[] = [
  ["a page", answer(200, "<html>\u001b[31mhello</html>"), /answer is refused: it is not JSON/],
  ["bytes that are no message", answer(200, envelope([255, 255, 1])), /cannot be decoded/],
  ["an error with escapes", answer(200, envelope([], "\u001b[2J\u001b]0;a\u0007 bad")), / bad/],
  ["status 500", answer(500, "oops"), /answered with status 500/],
  ["a redirect", answer(302, "", { location: "http://127.0.0.1:1/" }), /redirect \(302\)/],
  ["64 MB", huge, /the answer has more than \d+ bytes/],
  ["a lost connection", drop, /the connection was lost/],
];

/** Those that stand for the ways in which the engine learns that it will learn nothing. */
const LOST = ANSWERS.filter(([what]) => /no message|redirect|connection/.test(what));

/** What a person reads, in one line. */
const flat = (text: string): string => text.replaceAll(/[\s│]+/g, " ");

describe("a function that answers something else", () => {
  let stack: AsyncDisposableStack;
  let cwd: string;
  let folder: string;
  let hostile: HostileFunction;
  const run = (...words: string[]): Promise<CommandResult> =>
    tryCommand(words, { cwd, env: { STACKWRIGHT_FUNCTIONS: "functions.json" } });

  beforeEach(async () => {
    stack = new AsyncDisposableStack();
    cwd = await mkdtemp(join(tmpdir(), "stackwright-hostile-"));
    stack.defer(async () => rm(cwd, { recursive: true, force: true }));
    folder = join(cwd, "notes");
    await mkdir(folder);
    const create = () => createNotesProvider(folder);
    const real = stack.use(
      await serveFunction({ runner: createLifecycleRunner({ name: "notes", create }), port: 0 }),
    );
    hostile = stack.use(await startHostileFunction(real.url));
    const table = {
      region: "cn-north-7",
      projects: [PROJECT],
      functions: { [URN]: { url: hostile.url } },
      networks: ["127.0.0.0/8"],
    };
    await writeFile(join(cwd, "functions.json"), JSON.stringify(table));
    await writeFile(join(cwd, "main.tf"), TEMPLATE);
    await using store = await openStore(
      { kind: "sqlite", directory: join(cwd, ".stackwright/store") },
      { blobDirectory: "" },
    );
    const registry = createRegistry({ ...store, keys: createKeyRing([new Uint8Array(32)]) });
    await registry.createProvider(
      { account: "default", region: "cn-north-7" },
      { name: "notes", version: "1.0.0", functionUrn: URN },
      { actor: "test", requestId: "r" },
    );
  });
  afterEach(async () => {
    await stack.disposeAsync();
  });

  it("keeps a plan from being made, and says which object it was about", async () => {
    for (const [what, mischief, text] of ANSWERS) {
      hostile.mischief.set("PlanResourceChange", mischief);
      const { code, error, output } = await run("plan");
      expect([what, code, output]).toEqual([what, 1, ""]);
      expect(flat(error)).toMatch(text);
      expect(flat(error)).toContain("notes_note.a (huawei.com/private-provider/notes): ");
      expect(error).not.toContain("\u001b");
    }
    hostile.mischief.set("GetSchema", answer(200, "{}"));
    const { error } = await run("plan");
    expect(flat(error)).toContain(
      "huawei.com/private-provider/notes@1.0.0 cannot be started: the function's answer is refused",
    );
    expect(await readdir(folder)).toEqual([]);
  });

  it("leaves a create unresolved, is not asked for it twice, and ends with what a person says", async () => {
    for (const [what, mischief, text] of LOST) {
      // It does what it was asked, and nobody hears of it.
      hostile.mischief.set("ApplyResourceChange", async (response, real) => {
        await real();
        await mischief(response, real);
      });
      hostile.calls.length = 0;
      const up = await run("up", "--yes");
      expect([what, up.code]).toEqual([what, 1]);
      expect(flat(up.error)).toMatch(text);
      expect(up.error).toContain("Outcome not known");
      expect(up.error).not.toContain("\u001b");
      expect(up.output).toContain("terraform_data.after: Skipped, as it waits for notes_note.a");
      expect(up.output).toContain("1 unresolved");

      hostile.mischief.clear();
      const again = await run("up", "--yes");
      expect(again.error).toContain("Outcome of an earlier operation is not known");
      expect(hostile.calls.filter((call) => call === "ApplyResourceChange")).toHaveLength(1);
      expect(await readdir(folder)).toEqual(["one"]);

      await run("state", "resolve-absent", "notes_note.a", "--yes");
      await rm(join(folder, "one"));
    }
    expect((await run("up", "--yes")).output).toContain("2 added, 0 changed, 0 destroyed");
    expect((await run("plan", "--detailed-exitcode")).code).toBe(0);
  });

  it("refuses the import of what may have been made, and says what comes first", async () => {
    hostile.mischief.set("ApplyResourceChange", drop);
    await run("up", "--yes");
    const refused = await run("import", "notes_note.a", "one", "--yes");
    expect(refused.code).toBe(1);
    expect(refused.error).toContain("stackwright state resolve-absent 'notes_note.a'");
  });

  it("can neither plan nor answer what was not asked for", async () => {
    hostile.mischief.set("ApplyResourceChange", answer(200, envelope([])));
    const up = await run("up", "--yes");
    expect(up.error).toContain("Provider produced inconsistent result after apply");
    hostile.mischief.clear();
    hostile.mischief.set("PlanResourceChange", answer(200, envelope([])));
    expect((await run("plan")).error).toContain("Provider produced invalid plan");
  });
});
