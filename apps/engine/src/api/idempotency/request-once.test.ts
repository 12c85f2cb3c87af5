import { createHash } from "node:crypto";
import { IdempotencyRecord, ProjectDeletion } from "@stackwright/proto/stackwright";
import { type Resource, tenancyOf } from "@stackwright/storage";
import { expect, it } from "vitest";
import { projectDeletionPlace } from "../../domain/kinds-of-projects.ts";
import { decodeRecord } from "../../domain/record-kind.ts";
import { SERVER_KINDS } from "../../domain/server-kinds.ts";
import { transact } from "../../queue/transaction.ts";
import { createRunFixture } from "../../testing/run-fixture.ts";
import { ANSWER_WAIT_MS, MAX_KEPT_BYTES, RequestOnce } from "./request-once.ts";
import { answerKeyOf, openAnswer } from "./sealed-answer.ts";

const SERVER_KEY = createHash("sha256").update("key").digest();
const PLACE = { tenancy: tenancyOf({ kind: "account", account: "acme" }), name: "ann.key" };
const ANSWER = { status: 201, body: '{"token":"s3cret"}', location: "/x", etag: '"1"' };
const DAY_MS = 24 * 3_600_000;

function start() {
  const { parts, clock, storage, put } = createRunFixture();
  const requestOf = ({ key = "k", digest = "d", credential = "c", rights = "r" } = {}) =>
    new RequestOnce(parts, {
      place: PLACE,
      key,
      digest,
      credential,
      rights,
      answerKey: async () => SERVER_KEY,
    });
  let changes = 0;
  /** A change of the store, as a part of the request. */
  const change = async (companion: RequestOnce) => {
    const place = projectDeletionPlace({ account: "acme", project: `p${(changes += 1)}` });
    await transact({ ...parts, companion }, async (tx) =>
      tx.create(SERVER_KINDS.projectDeletion, place, ProjectDeletion.create({ atMs: 1n })),
    );
  };
  const stored = async () =>
    storage.list("strong", SERVER_KINDS.idempotency.type, PLACE.tenancy, "");
  const count = async () =>
    (await storage.list("strong", SERVER_KINDS.projectDeletion.type, PLACE.tenancy, "")).length;
  return { clock, requestOf, change, stored, count, put, storage };
}

const codeOf = async (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => "none",
    (error: unknown) => (error as { code?: unknown }).code,
  );

it("the answer to a change is repeated to the same request for a day", async () => {
  const { clock, requestOf, change } = start();
  const first = requestOf();
  expect(await first.find()).toBeUndefined();
  await change(first);
  await first.complete(ANSWER);
  await clock.advance(DAY_MS);
  expect(await requestOf().find()).toMatchObject(ANSWER);
  await clock.advance(1);
  expect(await requestOf().find()).toBeUndefined();
});

it("a key of another request is refused, whether that was answered or not", async () => {
  const { requestOf, change } = start();
  const first = requestOf();
  await change(first);
  expect(await codeOf(requestOf({ digest: "e" }).find())).toBe("idempotency_mismatch");
  await first.complete(ANSWER);
  expect(await codeOf(requestOf({ digest: "e" }).find())).toBe("idempotency_mismatch");
});

it("a change whose answer was lost is in progress for a minute, and then has none", async () => {
  const { clock, requestOf, change } = start();
  await change(requestOf());
  await clock.advance(ANSWER_WAIT_MS);
  expect(await codeOf(requestOf().find())).toBe("in_progress");
  await clock.advance(1);
  expect(await codeOf(requestOf().find())).toBe("answer_unavailable");
});

it("of two requests that change something at the same time one does", async () => {
  const { clock, requestOf, change, count } = start();
  const requests = Array.from({ length: 20 }, () => requestOf());
  const changing = Promise.all(requests.map(async (one) => codeOf(change(one))));
  // Those that lose look again after a pause.
  await Promise.resolve();
  for (let pause = 0; pause < 50; pause += 1) await clock.advance(10);
  const outcomes = await changing;
  expect(Map.groupBy(outcomes, (one) => one).get("none")).toHaveLength(1);
  expect(outcomes.filter((one) => one === "in_progress")).toHaveLength(19);
  expect(await count()).toBe(1);
});

it("a request that has begun outside of the store is not begun again, and its key is free once it was refused", async () => {
  const { clock, requestOf } = start();
  const first = requestOf();
  await first.begin();
  expect(await codeOf(requestOf().begin())).toBe("in_progress");
  await clock.advance(ANSWER_WAIT_MS + 1);
  expect(await codeOf(requestOf().find())).toBe("answer_unavailable");
  await first.fail(true);
  expect(await requestOf().find()).toBeUndefined();
});

it("a request that failed after its change is not repeated, at once", async () => {
  const { requestOf, change } = start();
  const first = requestOf();
  await change(first);
  await first.fail(true);
  expect(await codeOf(requestOf().find())).toBe("answer_unavailable");
});

it("a request whose batch was done while its outcome got lost fails with its own error, and so is known to be done", async () => {
  for (const answer of [undefined, ANSWER]) {
    const { requestOf, storage } = start();
    const first = requestOf();
    if (answer !== undefined) first.answerWithChange(answer);
    await storage.batch(first.next());
    // It takes its own record for that of no other request.
    expect(await first.find()).toBeUndefined();
    await first.fail(false);
    const repeat = requestOf().find();
    if (answer === undefined) expect(await codeOf(repeat)).toBe("answer_unavailable");
    else expect(await repeat).toMatchObject(answer);
  }
});

it("a request that changed nothing leaves no record", async () => {
  const { requestOf, stored } = start();
  expect(await requestOf().complete(ANSWER)).toBeUndefined();
  expect(await stored()).toEqual([]);
  expect(await requestOf().find()).toBeUndefined();
});

it("a request that changed nothing has the answer of another one with its key, which did", async () => {
  const { requestOf, change } = start();
  const [first, second] = [requestOf(), requestOf()];
  await change(first);
  await first.complete(ANSWER);
  expect(await second.complete({ ...ANSWER, body: "another" })).toMatchObject(ANSWER);
});

it("an answer is stored encrypted, and repeated to the credential that asked alone", async () => {
  const { requestOf, change, stored } = start();
  const first = requestOf();
  await change(first);
  await first.complete(ANSWER);
  const [record] = await stored();
  expect(Buffer.from(record?.data?.value ?? []).includes("s3cret")).toBe(false);
  expect(await codeOf(requestOf({ credential: "other" }).find())).toBe("answer_unavailable");
});

it("an encrypted answer is opened with the idempotency key of its request, and not with the keys of the servers alone", async () => {
  const { requestOf, change, stored } = start();
  const first = requestOf({ key: "its own" });
  await change(first);
  await first.complete(ANSWER);
  const [record] = await stored();
  const { sealedBody } = decodeRecord(SERVER_KINDS.idempotency, record as Resource);
  expect(sealedBody.byteLength).toBeGreaterThan(0);
  expect(openAnswer(SERVER_KEY, PLACE, sealedBody)).toBeUndefined();
  expect(openAnswer(answerKeyOf(SERVER_KEY, "another"), PLACE, sealedBody)).toBeUndefined();
  expect(openAnswer(answerKeyOf(SERVER_KEY, "its own"), PLACE, sealedBody)).toBe(ANSWER.body);
});

it("an answer that is known before the change is stored with it", async () => {
  const { requestOf, change } = start();
  const first = requestOf();
  first.answerWithChange({ status: 201, body: "{}", location: "/run" });
  await change(first);
  const other = requestOf({ credential: "other" });
  expect(await other.find()).toMatchObject({ status: 201, body: "{}", location: "/run" });
});

it("an answer is not repeated to a caller who has other rights than the first time", async () => {
  for (const isKnown of [true, false]) {
    const { requestOf, change } = start();
    const first = requestOf();
    if (isKnown) first.answerWithChange(ANSWER);
    await change(first);
    await first.complete(ANSWER);
    expect(await codeOf(requestOf({ rights: "fewer" }).find())).toBe("answer_unavailable");
    expect(await requestOf().find()).toMatchObject(ANSWER);
  }
});

it("an answer that is known before the change is kept whole, however large", async () => {
  const { requestOf, change } = start();
  const body = JSON.stringify({ message: "x".repeat(4 * MAX_KEPT_BYTES) });
  const first = requestOf();
  first.answerWithChange({ status: 201, body, location: "/run" });
  await change(first);
  expect(await requestOf().find()).toMatchObject({ body });
  // What is answered at last takes its place.
  const last = `${body} `;
  await first.complete({ status: 201, body: last, location: "/run" });
  expect(await requestOf().find()).toMatchObject({ body: last });
});

it("an encrypted answer beyond 16 KiB is not kept, and a repeat says where to read", async () => {
  const { requestOf, change } = start();
  const first = requestOf();
  await change(first);
  await first.complete({ ...ANSWER, body: "x".repeat(MAX_KEPT_BYTES + 1) });
  await expect(requestOf().find()).rejects.toMatchObject({
    code: "answer_unavailable",
    message: expect.stringContaining("read /x"),
  });
});

it("the answer that an older server stored is repeated to any credential of the actor", async () => {
  const { requestOf, put } = start();
  // It has the first five members alone.
  const record = IdempotencyRecord.create({
    requestDigest: "d",
    status: 201,
    body: "{}",
    location: "/run",
    createdAtMs: BigInt(createRunFixture().clock.wallMs()),
  });
  await put(SERVER_KINDS.idempotency, PLACE, record);
  expect(await requestOf().find()).toMatchObject({ status: 201, body: "{}", location: "/run" });
});

it("a later change of the same request does not add the record again", async () => {
  const { requestOf, change, count, stored } = start();
  const first = requestOf();
  await change(first);
  await change(first);
  expect(await count()).toBe(2);
  expect(await stored()).toHaveLength(1);
});
