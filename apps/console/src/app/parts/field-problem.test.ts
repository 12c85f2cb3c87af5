import { ClientError } from "@stackwright/client";
import { expect, it } from "vitest";
import { fieldProblem } from "./field-problem.ts";

const refused = new ClientError("invalid_request", "/body/name must match", {
  status: 400,
  problem: {
    type: "about:blank",
    title: "Invalid request",
    status: 400,
    detail: "/body/name must match",
    code: "invalid_request",
    request_id: "r-1",
    errors: [{ pointer: "/body/name", detail: "must match a pattern" }],
  },
});

it("finds what a refusal says of a member", () => {
  expect(fieldProblem(refused, "name")).toBe("must match a pattern");
});

it("says nothing of members that a refusal does not name, nor of other errors", () => {
  expect(fieldProblem(refused, "description")).toBeUndefined();
  expect(fieldProblem(refused, "nam")).toBeUndefined();
  expect(fieldProblem(new TypeError("no such member"), "name")).toBeUndefined();
  expect(fieldProblem(null, "name")).toBeUndefined();
});
