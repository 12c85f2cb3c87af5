import { expect, it } from "vitest";
import { failureAnswer } from "./error-body.ts";
import { RfsStacksError } from "./errors.ts";

it("a failure of the server that the API has a code for is answered with it, and its status", () => {
  const failure = { status: 409, detail: "it is protected", code: "RFS_STACK_PROTECTED" } as const;
  const body = { error_code: "RF.10905008", error_msg: "it is protected" };
  expect(failureAnswer(new Error("deletion_protected"), () => failure)).toEqual({
    status: 403,
    body,
  });
  const own = new RfsStacksError("RFS_STACK_PROTECTED", "it is protected");
  expect(failureAnswer(own, () => ({ status: 500, detail: "" }))).toEqual({ status: 403, body });
});

it("another one by its status", () => {
  const failureOf = () => ({ status: 403, detail: "not allowed" });
  expect(failureAnswer(new Error("forbidden"), failureOf)).toMatchObject({
    status: 403,
    body: { error_code: "RF.10012507", error_msg: "not allowed" },
  });
});
