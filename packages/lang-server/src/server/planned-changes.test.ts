import { afterEach, describe, expect, it } from "vitest";
import type { InlayHint } from "vscode-languageserver-protocol/node";
import type { PlannedChange } from "../features/planned-hints.ts";
import { TestClient } from "../testing/test-client.ts";
import type { LanguageHost } from "./language-host.ts";

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

  async function start(host: LanguageHost, options: object = { plannedChanges: true }) {
    client = await TestClient.start({ "main.tf": TEXT }, host, {}, options);
    return client;
  }

  async function hints(of: TestClient): Promise<readonly InlayHint[]> {
    const range = { start: { line: 0, character: 0 }, end: { line: 99, character: 0 } };
    const textDocument = { uri: of.uri("main.tf") };
    return of.connection.sendRequest("textDocument/inlayHint", { textDocument, range });
  }

  const save = async (of: TestClient) =>
    of.connection.sendNotification("textDocument/didSave", {
      textDocument: { uri: of.uri("main.tf") },
    });

  it("is shown at the blocks after a save, until the text is another one", async () => {
    const of = await start({ plan: async () => Promise.resolve(CHANGES) });
    expect(await hints(of)).toEqual([]);
    await save(of);
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
    const plan = async (): Promise<readonly PlannedChange[]> => {
      plans += 1;
      return Promise.resolve(CHANGES);
    };
    const first = await start({ plan }, {});
    await save(first);
    expect(await hints(first)).toEqual([]);
    await first[Symbol.asyncDispose]();
    const of = await start({ plan }, { plannedChanges: true, trusted: false });
    await save(of);
    expect(await hints(of)).toEqual([]);
    expect(plans).toBe(0);
  });

  it("is given up where the text changes while it is planned, and planned again after the next save", async () => {
    const signals: AbortSignal[] = [];
    const of = await start({
      plan: async (_folder, signal) => {
        signals.push(signal);
        if (signals.length > 1) return CHANGES;
        return new Promise((_, reject) => {
          signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
        });
      },
    });
    await save(of);
    await expect.poll(() => signals.length).toBe(1);
    await of.change("main.tf", `${TEXT}\n`, 2);
    await save(of);
    await expect.poll(async () => hints(of)).toHaveLength(2);
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, false]);
  });
});
