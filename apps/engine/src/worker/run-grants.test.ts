import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startServer } from "@stackwright/proto/grpc";
import { fenceResourceId } from "@stackwright/storage/lease";
import { createMemoryStorage } from "@stackwright/storage/memory";
import { createRemoteStorage, createStorageService } from "@stackwright/storage/remote";
import { expect, it, onTestFinished } from "vitest";
import { memberPlace, STACK_HEAD_KIND, STACK_PLAN_KIND, stackPlace } from "../domain/run-places.ts";
import { idOf } from "../queue/transaction.ts";
import { createRunFixture } from "../testing/run-fixture.ts";
import { RunGrants } from "./run-grants.ts";

async function start() {
  const stack = new AsyncDisposableStack();
  onTestFinished(() => stack.disposeAsync());
  const scratch = stack.use(await mkdtempDisposable(join(tmpdir(), "grant-")));
  const socketPath = join(scratch.path, "s");
  const fixture = createRunFixture(stack.use(createMemoryStorage()));
  const grants = new RunGrants();
  const services = [
    createStorageService({ storage: fixture.storage, authorize: grants.authorize }),
  ];
  stack.adopt(await startServer({ address: { socketPath }, services }), async (server) =>
    server.close({ graceMs: 0 }),
  );
  // Ids of stacks that were written before they had names are names.
  const [own, other] = ["web", "web2"].map((id) => ({ account: "acme", project: "p", stack: id }));
  if (own === undefined || other === undefined) throw new Error("no stacks");
  for (const one of [own, other]) {
    await fixture.head(one, "");
    await fixture.plan(one, one.stack);
  }
  const connect = async (access: "plan" | "write") => {
    const token = grants.issue(own, access);
    return stack.use(await createRemoteStorage({ address: { socketPath }, token }));
  };
  return { fixture, own, other, connect };
}

it("the token of a run reaches its stack, and none whose id begins alike", async () => {
  const { own, other, connect } = await start();
  const remote = await connect("write");
  const read = async (id: Parameters<typeof remote.read>[1]) => remote.read("strong", id);
  await read(idOf(STACK_HEAD_KIND, stackPlace(own)));
  const plans = await remote.list(
    "strong",
    STACK_PLAN_KIND.type,
    fenceResourceId(stackPlace(own)).tenancy,
    "",
  );
  expect(plans.map(({ id }) => id.name.split(".")[0])).toEqual(["web"]);
  await expect(read(idOf(STACK_HEAD_KIND, stackPlace(other)))).rejects.toMatchObject({
    code: "STORAGE_PERMISSION_DENIED",
  });
});

it("the token of a plan adds plans, and replaces or deletes none", async () => {
  const { fixture, own, connect } = await start();
  const remote = await connect("plan");
  const made = await fixture.plan(own, "approved by somebody");
  const stored = await remote.read("strong", idOf(STACK_PLAN_KIND, memberPlace(own, made)));
  const denied = { code: "STORAGE_PERMISSION_DENIED" };
  const forged = { ...stored, generation: "forged" };
  await expect(remote.writeCAS(forged)).rejects.toMatchObject(denied);
  await expect(remote.deleteCAS(stored.id, stored.version)).rejects.toMatchObject(denied);
  const id = idOf(STACK_PLAN_KIND, memberPlace(own, "f".repeat(64)));
  await remote.writeCAS({ ...stored, id: { ...id, uid: "1" }, version: "" });
  const head = await remote.read("strong", idOf(STACK_HEAD_KIND, stackPlace(own)));
  await expect(remote.writeCAS(head)).rejects.toMatchObject(denied);
});
