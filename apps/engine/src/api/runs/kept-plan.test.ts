import { openStore, parseStoreAddress } from "@stackwright/core";
import { Run, Run_Mode, Run_Phase } from "@stackwright/proto/stackwright";
import { createUlidGenerator } from "@stackwright/storage";
import { expect, it, onTestFinished } from "vitest";
import { typeUrlOf } from "../../domain/record-kind.ts";
import { RUN_KIND, runPlace } from "../../domain/run-places.ts";
import { idOf } from "../../queue/transaction.ts";
import { P, S, startApi } from "../../testing/start-api.ts";

const DIGEST = "d".repeat(64);

/** A server and its store, as a command has it with a token. */
async function start() {
  const { call, server, first, directory } = await startApi("none", { storagePort: 0 });
  const made = await call("POST", `${P}/stacks`, { body: { name: "one" } });
  const address = parseStoreAddress(server.storageAddress ?? "", directory);
  const remote = await openStore(address, { blobDirectory: directory, token: first.token });
  onTestFinished(() => remote[Symbol.asyncDispose]());
  const ulid = createUlidGenerator({ wallMs: () => Date.now() });
  /** What a command, or a program with its token, records. */
  const record = async (planDocuments: Run["planDocuments"]): Promise<string> => {
    const id = ulid();
    const stack = { account: "default", project: "web", stack: String(made.json["id"]) };
    const run = Run.create({
      id,
      stack: stack.stack,
      phase: Run_Phase.PHASE_APPLIED,
      mode: Run_Mode.MODE_UNSPECIFIED,
      planDigest: DIGEST,
      ...(planDocuments && { planDocuments }),
    });
    await remote.storage.writeCAS({
      id: { ...idOf(RUN_KIND, runPlace({ stack, run: id })), uid: id },
      version: "",
      generation: id,
      metadata: {},
      status: {},
      data: { typeUrl: typeUrlOf(RUN_KIND.type), value: Run.encode(run).finish() },
    });
    return `${S}/runs/${id}`;
  };
  const keep = async (text: string): Promise<string> =>
    (await remote.blobs.write(Buffer.from(text))).sha256;
  return { call, record, keep };
}

it("a run of an earlier release, and one whose documents are gone, have no plan to show", async () => {
  const { call, record } = await start();
  const old = await record(undefined);
  const gone = await record({ documentSha256: "0".repeat(64), viewSha256: "" });
  for (const path of [`${old}/plan`, `${gone}/plan`, `${gone}/plan/view`]) {
    expect((await call("GET", path)).json["code"]).toBe("not_found");
  }
});

it("what a token of the store wrote in place of a plan is shown only if it is one", async () => {
  const { call, record, keep } = await start();
  const page = await keep("<script>alert(1)</script>");
  const bare = await keep('{"format":"stackwright.plan-view/1"}');
  const forged = await record({ documentSha256: page, viewSha256: page });
  const hollow = await record({ documentSha256: bare, viewSha256: bare });
  for (const path of [
    `${forged}/plan`,
    `${forged}/plan/view`,
    `${hollow}/plan`,
    `${hollow}/plan/rendered?form=text`,
  ]) {
    const { status, json } = await call("GET", path);
    expect([path, status, json["code"]]).toEqual([path, 422, "unprocessable"]);
  }
  expect((await call("GET", `${hollow}/plan/view`)).status).toBe(200);
});

it("a view that is none, or that would be much longer as a text, is not rendered", {
  timeout: 60_000,
}, async () => {
  const { call, record, keep } = await start();
  const change = {
    address: "a.b",
    mode: "managed",
    type: "a",
    name: "b",
    module: "",
    action: "update",
    reason: "r".repeat(10_000),
    causes: [],
    replacePaths: [],
    body: { kind: "object", members: [] },
    risk: { score: 0, reasons: [] },
    likeness: "",
  };
  const view = {
    format: "stackwright.plan-view/1",
    planDigest: DIGEST,
    stack: "s",
    revision: "1",
    mode: "normal",
    partial: false,
    createdAtMs: 0,
    summary: {
      create: 0,
      update: 1,
      replace: 0,
      delete: 0,
      forget: 0,
      import: 0,
      move: 0,
      read: 0,
    },
    rootCauses: [],
    groups: [{ risk: "ordinary", entries: [{ changes: [0], varies: [] }] }],
    changes: [change],
    outputs: [],
    drift: [],
    checks: [],
  };
  const rendered = async (given: object) => {
    const viewSha256 = await keep(JSON.stringify(given));
    const run = await record({ documentSha256: "", viewSha256 });
    return call("GET", `${run}/plan/rendered?form=html`);
  };
  expect((await rendered(view)).text).toContain("0 to add, 1 to change, 0 to destroy");
  const entry = view.groups[0]?.entries[0];
  const repeated = [{ risk: "ordinary", entries: Array.from({ length: 5_000 }, () => entry) }];
  const forged = [
    { ...view, groups: repeated },
    { ...view, groups: [{ risk: '"><script>', entries: [] }] },
    { ...view, summary: { ...view.summary, update: "<h1>" } },
    { ...view, changes: [{ ...change, action: '"><form>' }] },
  ];
  for (const one of forged) {
    const { status, json } = await rendered(one);
    expect([status, json["code"]]).toEqual([422, "unprocessable"]);
  }
});
