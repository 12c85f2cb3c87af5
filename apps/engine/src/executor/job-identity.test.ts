import { mkdtempDisposable, readdir, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createManualClock } from "@stackwright/base/testing";
import { createRedactor } from "@stackwright/core";
import { expect, it, onTestFinished } from "vitest";
import { testJob } from "../testing/test-job.ts";
import { openJobIdentity } from "./job-identity.ts";

async function start(environment: Readonly<Record<string, string>>) {
  const scratch = await mkdtempDisposable(join(tmpdir(), "job-identity-"));
  onTestFinished(() => scratch.remove());
  const clock = createManualClock();
  let issued = 0;
  let isAway = false;
  const host = {
    identityTokens: async () => {
      if (isAway) throw new Error("the server is away");
      issued += 1;
      const expiresAtMs = clock.wallMs() + 900_000;
      return Promise.resolve([{ tag: "AWS", token: `token-number-${issued}`, expiresAtMs }]);
    },
  };
  const job = await testJob({ folder: scratch.path, environment });
  const identity = await openJobIdentity(job, host, clock);
  const read = async () => readFile(join(scratch.path, "identity", "token-aws"), "utf8");
  return {
    ...identity,
    identity,
    clock,
    read,
    folder: scratch.path,
    goAway: (away: boolean) => (isAway = away),
    count: () => issued,
  };
}

it("the file of a token is replaced while the job runs, and what replaces it is hidden", async () => {
  const { identity, job, clock, read, goAway, count, folder } = await start({
    STACKWRIGHT_IDENTITY_AWS_ROLE_ARN: "role",
  });
  expect(job.environment["AWS_WEB_IDENTITY_TOKEN_FILE"]).toBe(join(folder, "identity/token-aws"));
  expect(job.sensitive.environment).toEqual(["STACKWRIGHT_IDENTITY_TOKEN_AWS"]);
  const secrets = createRedactor();
  identity.hideFrom(secrets);
  expect(await read()).toBe("token-number-1");
  await clock.advance(5 * 60_000);
  await expect.poll(read).toBe("token-number-2");
  expect(secrets.redact("x token-number-2 y")).not.toContain("number-2");
  goAway(true);
  await clock.advance(5 * 60_000);
  expect(await read()).toBe("token-number-2");
  goAway(false);
  await clock.advance(5 * 60_000);
  await expect.poll(read).toBe("token-number-3");
  await identity[Symbol.asyncDispose]();
  await clock.advance(10 * 60_000);
  expect(count()).toBe(3);
  expect(await readdir(join(folder, "identity"))).toEqual(["token-aws"]);
});

it("a job that asks for none asks its worker for none, and stays as it is", async () => {
  const { job, count, folder } = await start({ AWS_ROLE_ARN: "given" });
  expect([count(), await readdir(folder), job.environment]).toEqual([
    0,
    [],
    { AWS_ROLE_ARN: "given" },
  ]);
});
