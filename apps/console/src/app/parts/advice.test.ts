import { ClientError } from "@stackwright/client";
import { expect, it } from "vitest";
import { adviceFor } from "./advice.ts";

const answered = (status: number): ClientError =>
  new ClientError("CLIENT_UNEXPECTED_ANSWER", "as the test wants it", { status });

it("says whom to ask where a role is missing", () => {
  expect(adviceFor(answered(403))).toContain("Ask an administrator");
});

it("leaves open whether what is not found exists", () => {
  expect(adviceFor(answered(404))).toContain("you have no role");
});

it("tells failures of the server from those of the way to it", () => {
  expect(adviceFor(answered(500))).toContain("log of the server");
  expect(adviceFor(answered(503))).toContain("Wait");
  expect(adviceFor(new ClientError("CLIENT_UNREACHABLE", "gone"))).toContain("connection");
});

it("does not send readers to the server for an error of the page", () => {
  expect(adviceFor(new TypeError("no such member"))).toBe("Load the page again.");
});
