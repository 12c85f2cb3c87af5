import { expect, it } from "vitest";
import { readDelivery, verbOf } from "./read-delivery.ts";

const NOW = Date.parse("2027-01-01T12:00:00Z");
// The members that GitHub documents for its events, as far as they are read, and some more.
const repository = { id: 1, full_name: "acme/Infra", default_branch: "main" };
const comment = (body: string, at = "2027-01-01T11:59:00Z") => ({
  action: "created",
  issue: { number: 7, pull_request: { url: "https://api.github.com/repos/acme/infra/pulls/7" } },
  comment: { id: 5, user: { login: "ann" }, body, created_at: at },
  repository,
});
const read = (kind: "github" | "gitea" | "generic", event: string, body: object) =>
  readDelivery(Buffer.from(JSON.stringify(body)), {
    kind,
    headers: { [`x-${kind}-event`]: event, "content-type": "application/json" },
    repository: kind === "generic" ? "" : "acme/infra",
    branch: "main",
    nowMs: NOW,
  });

it("finds what a delivery of GitHub concerns", () => {
  expect(read("github", "ping", { zen: "", repository })).toEqual({ event: "ignored" });
  const push = { ref: "refs/heads/main", before: "0", after: "1", repository };
  expect(read("github", "push", push)).toEqual({ event: "push", concerns: "branch" });
  expect(read("github", "push", { ...push, ref: "refs/heads/x" })).toEqual({ event: "push" });
  const pull = { action: "synchronize", number: 7, pull_request: { number: 7 }, repository };
  const concerns = { pullRequest: "7" };
  expect(read("github", "pull_request", pull)).toEqual({ event: "pull_request", concerns });
  const foreign = { ...pull, repository: { full_name: "acme/other" } };
  expect(read("github", "pull_request", foreign)).toEqual({ event: "ignored" });
  expect(read("github", "issue_comment", comment("stackwright apply"))).toEqual({
    event: "comment",
    concerns,
    command: { user: "ann", verb: "apply", writtenAtMs: BigInt(NOW - 60_000) },
  });
});

it("leaves out comments that are old, edited, of issues, or ask for nothing", () => {
  const ignored = { event: "ignored" };
  expect(read("github", "issue_comment", comment("looks good"))).toEqual(ignored);
  expect(
    read("github", "issue_comment", comment("stackwright apply", "2026-12-01T00:00:00Z")),
  ).toEqual(ignored);
  expect(
    read("github", "issue_comment", { ...comment("stackwright plan"), action: "edited" }),
  ).toEqual(ignored);
  const issue = { ...comment("stackwright plan"), issue: { number: 7 } };
  expect(read("github", "issue_comment", issue)).toEqual(ignored);
  expect(read("gitea", "issue_comment", { ...issue, is_pull: true })).toMatchObject({
    event: "comment",
  });
});

it("takes the first line of a comment for a command if it is nothing else", () => {
  expect(
    ["stackwright plan", "/stackwright apply\r\nplease", "\n stackwright  plan "].map(verbOf),
  ).toEqual(["plan", "apply", "plan"]);
  expect(
    [
      "stackwright destroy",
      "run stackwright plan",
      "> stackwright apply",
      "stackwright apply now",
      "Stackwright",
    ].map(verbOf),
  ).toEqual(Array.from({ length: 5 }, () => undefined));
});

it("takes generic deliveries for branches, and only new ones", () => {
  const time = NOW / 1_000;
  const at = (ref: string, given: number = time) => read("generic", "", { ref, time: given });
  expect(at("refs/heads/main")).toEqual({ event: "push", concerns: "branch" });
  expect(at("refs/heads/a/b")).toEqual({ event: "push", concerns: { pullRequest: "a/b" } });
  for (const ref of ["refs/tags/v1", "refs/heads/-x", "refs/heads/a..b", "refs/heads/a b"]) {
    expect(at(ref)).toEqual({ event: "ignored" });
  }
  expect(() => at("refs/heads/main", time - 90_000)).toThrow("too far from now");
  expect(() => at("refs/heads/main", time + 900)).toThrow("too far from now");
  expect(() => read("generic", "", { ref: 1 })).toThrow("ref and time");
});
