import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "@stackwright/base/clock";
import { createManualClock } from "@stackwright/base/testing";
import { afterEach, describe, expect, it } from "vitest";
import type { InlayHint } from "vscode-languageserver-protocol/node";
import type { PlannedChange } from "../features/planned-hints.ts";
import { TestClient } from "../testing/test-client.ts";
import type { FolderPlan } from "./folder-plan.ts";
import type { LanguageHost } from "./language-host.ts";
import type { TrustDecision } from "./provider-trust.ts";

const TEXT = `resource "acme_server" "web" {
  count = 3
}
module "app" {
  source = "./app"
}
data "acme_image" "base" {
}
`;
const CHANGES: readonly PlannedChange[] = [
  { block: "acme_server.web", address: "acme_server.web[0]", action: "create" },
  { block: "acme_server.web", address: "acme_server.web[1]", action: "update" },
  { block: "acme_server.web", address: "acme_server.web[2]", action: "create" },
  { block: "module.app", address: "module.app.acme_disk.a", action: "replace" },
  { block: "acme_server.gone", address: "acme_server.gone", action: "delete" },
];

describe("what a plan would do", () => {
  let client: TestClient | undefined;

  afterEach(async () => {
    await client?.[Symbol.asyncDispose]();
  });

  async function start(
    host: LanguageHost,
    options: object = { plannedChanges: true },
    texts: Readonly<Record<string, string>> = {},
    clock?: Clock,
  ) {
    client = await TestClient.start({ "main.tf": TEXT, ...texts }, host, {}, options, clock);
    return client;
  }

  async function hints(of: TestClient): Promise<readonly InlayHint[]> {
    const range = { start: { line: 0, character: 0 }, end: { line: 99, character: 0 } };
    const textDocument = { uri: of.uri("main.tf") };
    return of.connection.sendRequest("textDocument/inlayHint", { textDocument, range });
  }

  /** What each call of the host plans, and which folders it planned. */
  function planner(outdated?: FolderPlan["outdated"]) {
    const folders: string[] = [];
    const plan = async (folder: string): Promise<FolderPlan> => {
      folders.push(folder);
      return Promise.resolve({ changes: CHANGES, ...(outdated && { outdated }) });
    };
    return { folders, plan };
  }

  const onDisk = async (of: TestClient, path: string) =>
    of.connection.sendNotification("workspace/didChangeWatchedFiles", {
      changes: [{ uri: of.uri(path), type: 2 }],
    });

  it("is shown at the blocks after a save, until the text is another one", async () => {
    const of = await start({ plan: planner().plan });
    expect(await hints(of)).toEqual([]);
    await of.save("main.tf");
    await expect.poll(async () => hints(of)).toHaveLength(2);
    expect(await hints(of)).toMatchObject([
      {
        position: { line: 0, character: 28 },
        label: "plan: +2 ~1",
        tooltip:
          "acme_server.web[0]: create\nacme_server.web[1]: update\nacme_server.web[2]: create",
      },
      { position: { line: 3 }, label: "plan: -/+1" },
    ]);
    await of.change("main.tf", `\n${TEXT}`, 2);
    expect(await hints(of)).toEqual([]);
  });

  it("is not asked for where the client does not, nor in folders that are not trusted", async () => {
    let plans = 0;
    const plan = async (): Promise<FolderPlan> => {
      plans += 1;
      return Promise.resolve({ changes: CHANGES });
    };
    const first = await start({ plan }, {});
    await first.save("main.tf");
    expect(await hints(first)).toEqual([]);
    await first[Symbol.asyncDispose]();
    const of = await start({ plan }, { plannedChanges: true, trusted: false });
    await of.save("main.tf");
    expect(await hints(of)).toEqual([]);
    expect(plans).toBe(0);
  });

  it("is given up where the text changes while it is planned, and planned again after the next save", async () => {
    const signals: AbortSignal[] = [];
    const of = await start({
      plan: async (_folder, signal) => {
        signals.push(signal);
        if (signals.length > 1) return { changes: CHANGES };
        return new Promise((_, reject) => {
          signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
        });
      },
    });
    await of.save("main.tf");
    await expect.poll(() => signals.length).toBe(1);
    await of.change("main.tf", `${TEXT}\n`, 2);
    await of.save("main.tf");
    await expect.poll(async () => hints(of)).toHaveLength(2);
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, false]);
  });

  it("is not asked for in a folder that is not trusted, also where that needs no program", async () => {
    const { folders, plan } = planner();
    let checks = 0;
    const builtIn = {
      suffices: async () => Promise.resolve(true),
      schemas: async () => Promise.resolve(new Map()),
      validate: async () => {
        checks += 1;
        return Promise.resolve([]);
      },
    };
    const of = await start(
      { plan, withoutPrograms: builtIn },
      { plannedChanges: true, trusted: false },
    );
    await of.save("main.tf");
    await expect.poll(() => checks).toBe(1);
    expect(await hints(of)).toEqual([]);
    expect(folders).toEqual([]);
  });

  it("is made after the user trusts the folder", async () => {
    const { folders, plan } = planner();
    let decided: TrustDecision | undefined;
    const of = await start({
      plan,
      trust: {
        decision: async () => Promise.resolve(decided),
        remember: async (_root, decision) => {
          decided = decision;
          return Promise.resolve();
        },
      },
    });
    of.connection.onRequest("window/showMessageRequest", () => ({ title: "Trust" }));
    await of.save("main.tf");
    await expect.poll(async () => hints(of)).toHaveLength(2);
    expect(folders).toEqual([of.folder]);
  });

  it("stays while other files of the folder are opened", async () => {
    const of = await start({ plan: planner().plan }, undefined, { "other.tf": "" });
    await of.save("main.tf");
    await expect.poll(async () => hints(of)).toHaveLength(2);
    await of.open("other.tf");
    expect(await hints(of)).toHaveLength(2);
  });

  it("is dropped by a change of a module that the folder uses, whose save plans the folder again", async () => {
    const { folders, plan } = planner();
    const of = await start({ plan }, undefined, { "app/main.tf": "" });
    await of.save("main.tf");
    await expect.poll(async () => hints(of)).toHaveLength(2);
    await of.open("app/main.tf");
    expect(await hints(of)).toHaveLength(2);
    await of.change("app/main.tf", "locals {}\n", 2);
    expect(await hints(of)).toEqual([]);
    await of.save("app/main.tf");
    await expect.poll(async () => hints(of)).toHaveLength(2);
    expect(folders).toEqual([of.folder, of.folder]);
  });

  it("is not made of a module whose users are not open, nor of a folder of values", async () => {
    const { folders, plan } = planner();
    const of = await start({ plan }, undefined, { "app/main.tf": "", "values/a.tfvars": "" });
    await of.open("app/main.tf");
    await of.open("values/a.tfvars");
    await of.connection.sendNotification("textDocument/didClose", {
      textDocument: { uri: of.uri("main.tf") },
    });
    await of.save("app/main.tf");
    await of.save("values/a.tfvars");
    await of.open("main.tf");
    await of.save("main.tf");
    await expect.poll(async () => hints(of)).toHaveLength(2);
    expect(folders).toEqual([of.folder]);
  });

  it("is dropped by changes of the disk, but not by what the editor saved itself", async () => {
    const of = await start({ plan: planner().plan }, undefined, { "app/a.tf": "", "a.tf": "" });
    for (const path of ["app/a.tf", "a.tf"]) {
      await of.save("main.tf");
      await onDisk(of, "main.tf");
      await expect.poll(async () => hints(of)).toHaveLength(2);
      await onDisk(of, "main.tf");
      expect(await hints(of)).toHaveLength(2);
      writeFileSync(join(of.folder, path), "locals {}\n");
      await onDisk(of, path);
      expect(await hints(of)).toEqual([]);
    }
  });

  it("is not made while another file of it is not saved", async () => {
    const { folders, plan } = planner();
    const of = await start({ plan }, undefined, { "other.tf": "", "app/main.tf": "" });
    for (const path of ["other.tf", "app/main.tf"]) {
      await of.open(path);
      await of.change(path, "locals {}\n", 2);
    }
    await of.save("main.tf");
    await of.save("other.tf");
    expect(await hints(of)).toEqual([]);
    expect(folders).toEqual([]);
    await of.save("app/main.tf");
    await expect.poll(async () => hints(of)).toHaveLength(2);
    expect(folders).toEqual([of.folder]);
  });

  it("is dropped where the next plan fails or takes too long", async () => {
    const clock = createManualClock();
    const answers: (() => Promise<FolderPlan>)[] = [
      async () => Promise.resolve({ changes: CHANGES }),
      async () => Promise.reject(new Error("the state is locked")),
      async () => Promise.resolve({ changes: CHANGES }),
      async () => new Promise(() => undefined),
    ];
    let plans = 0;
    const plan = async (_folder: string, signal: AbortSignal) => {
      const answer = answers[plans++]?.() ?? expect.fail();
      const ended = new Promise<never>((_, reject) => {
        signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
      });
      return Promise.race([answer, ended]);
    };
    const of = await start({ plan }, undefined, {}, clock);
    await of.save("main.tf");
    await expect.poll(async () => hints(of)).toHaveLength(2);
    await of.save("main.tf");
    await expect.poll(async () => hints(of)).toEqual([]);
    expect(of.logged).toEqual(["the state is locked"]);
    await of.save("main.tf");
    await expect.poll(async () => hints(of)).toHaveLength(2);
    await of.save("main.tf");
    await expect.poll(() => plans).toBe(4);
    await clock.advance(120_000);
    await expect.poll(async () => hints(of)).toEqual([]);
    expect(of.logged.at(-1)).toContain("took longer than 120000 ms");
  });

  /** Waits for another state, each ended by the test; and what ended the others. */
  function states() {
    const waits: { readonly moved: () => void; readonly signal: AbortSignal }[] = [];
    const outdated = async (signal: AbortSignal): Promise<void> =>
      new Promise((moved, reject) => {
        signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
        waits.push({ moved, signal });
      });
    return { waits, outdated };
  }

  it("goes once its state is another one, and comes back with the next save", async () => {
    const { waits, outdated } = states();
    const of = await start({ plan: planner(outdated).plan });
    await of.save("main.tf");
    await expect.poll(async () => hints(of)).toHaveLength(2);
    waits[0]?.moved();
    await expect.poll(async () => hints(of)).toEqual([]);
    await of.save("main.tf");
    await expect.poll(async () => hints(of)).toHaveLength(2);
    expect(waits).toHaveLength(2);
    expect(of.logged).toEqual([]);
  });

  it("waits for another state no longer than it is shown", async () => {
    const { waits, outdated } = states();
    const of = await start({ plan: planner(outdated).plan });
    const ended = () => waits.map(({ signal }) => signal.aborted);
    await of.save("main.tf");
    await expect.poll(ended).toEqual([false]);
    await of.save("main.tf");
    await expect.poll(ended).toEqual([true, false]);
    await of.change("main.tf", `${TEXT}\n`, 2);
    await expect.poll(ended).toEqual([true, true]);
    await of.save("main.tf");
    await expect.poll(ended).toEqual([true, true, false]);
    await of.server[Symbol.asyncDispose]();
    expect(ended()).toEqual([true, true, true]);
    expect(of.logged).toEqual([]);
  });

  it("stays, with a line in the log, where nothing can say that the state is another one", async () => {
    const of = await start({
      plan: planner(async () => Promise.reject(new Error("too many watched files"))).plan,
    });
    await of.save("main.tf");
    await expect.poll(() => of.logged).toEqual(["too many watched files"]);
    expect(await hints(of)).toHaveLength(2);
  });
});
