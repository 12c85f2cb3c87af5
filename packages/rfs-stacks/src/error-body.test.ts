import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { failureAnswer } from "./error-body.ts";
import { RFS_STACKS_ERRORS, RfsStacksError, type RfsStacksErrorCode } from "./errors.ts";

const PAGE = join(import.meta.dirname, "../../../apps/engine/docs/rfs-stacks.md");
const UNUSED = () => ({ status: 500, detail: "not asked" });

function answerOf(code: RfsStacksErrorCode) {
  const { status, body } = failureAnswer(new RfsStacksError(code), UNUSED);
  return { code: body.error_code, status: String(status), text: body.error_msg };
}

const CODES = Object.keys(RFS_STACKS_ERRORS) as readonly RfsStacksErrorCode[];

test("the page of the server lists every error with its code and its status", async () => {
  const page = await readFile(PAGE, "utf8");
  const listed = [...page.matchAll(/^\| (RF\.\d{8}) +\| (\d{3}) +\| (.+?) +\|$/gm)].map(
    ([, code = "", status = "", text = ""]) => ({ code, status, text }),
  );
  const own = CODES.map(answerOf);
  for (const one of own) expect(listed).toContainEqual(one);
  // The rest is what the server behind it refuses, by its status.
  const byStatus = [400, 401, 403, 404, 409, 413, 429, 500].map((status) => {
    const { body } = failureAnswer(new Error("x"), () => ({ status, detail: "" }));
    return `${body.error_code} ${status}`;
  });
  const more = listed.filter(({ code }) => own.every((one) => one.code !== code));
  for (const { code, status } of more) expect(byStatus).toContain(`${code} ${status}`);
  const known = new Set(listed.map(({ code, status }) => `${code} ${status}`));
  expect(byStatus.filter((one) => !known.has(one))).toEqual([]);
});

test("no two errors have one code", () => {
  const codes = CODES.map((code) => answerOf(code).code);
  expect(new Set(codes).size).toBe(CODES.length);
});

test("a failure of the server says nothing of itself, and one of the request what is wrong", () => {
  const failed = failureAnswer(new Error("x"), () => ({ status: 503, detail: "the store" }));
  expect(failed).toMatchObject({ status: 503, body: { error_msg: "internal error" } });
  const refused = failureAnswer(new Error("x"), () => ({ status: 422, detail: "too many" }));
  expect(refused).toMatchObject({ status: 400, body: { error_msg: "too many" } });
  const unknown = failureAnswer(new Error("x"), () => ({ status: 418, detail: "no" }));
  expect(unknown).toMatchObject({ status: 418, body: { error_code: "RF.10900108" } });
});
