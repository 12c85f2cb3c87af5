import { VcsConnection, VcsPullRequest } from "@stackwright/proto/stackwright";
import { expect, it } from "vitest";
import { ServerError } from "../domain/server-error.ts";
import { reportOf } from "./pull-request-report.ts";
import type { ShownRun } from "./shown-run.ts";
import type { OpenConnection, VcsParts } from "./vcs-parts.ts";

const OPEN = {
  reference: { account: "acme", project: "web", name: "infra" },
  connection: VcsConnection.create({ name: "infra" }),
  markerOf: () => "marker",
  signal: new AbortController().signal,
} as unknown as OpenConnection;
const PLAN = {
  stack: "one",
  problem: "",
  phase: "plan_finished",
  summary: { create: 1, viewSha256: "view" },
} as unknown as ShownRun;

/** The comment of a plan that cannot be rendered. */
async function reported(error: ServerError): Promise<string> {
  const blobs = {
    async *read() {
      yield Buffer.from("{}");
    },
  };
  const render = async (): Promise<string> => {
    throw error;
  };
  const parts = { blobs, renderer: { render } };
  const pull = VcsPullRequest.create({ id: "1", tree: "tree" });
  return (await reportOf(parts as unknown as VcsParts, OPEN, pull, [PLAN], [])).text;
}

it("says why a plan cannot be shown, unless that passes by itself", async () => {
  expect(await reported(new ServerError("unprocessable", "too large"))).toContain("too large");
  await expect(reported(new ServerError("rate_limited", "busy"))).rejects.toMatchObject({
    code: "rate_limited",
  });
});
