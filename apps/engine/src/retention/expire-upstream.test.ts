import { UpstreamProvider, UpstreamVersion } from "@stackwright/proto/stackwright";
import { tenancyOf } from "@stackwright/storage";
import { expect, it } from "vitest";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { createRunFixture } from "../testing/run-fixture.ts";
import { expireUpstream } from "./expire-upstream.ts";

const DAY_MS = 24 * 3_600_000;
const never = new AbortController().signal;

it("removes what nothing asked for in 30 days and versions beyond the bound, and no package or quarantine", async () => {
  const { storage, put } = createRunFixture();
  const { upstreamProvider, upstreamVersion } = SERVER_KINDS;
  const tenancy = tenancyOf({ kind: "account", account: "acme" });
  const now = 100 * DAY_MS;
  const version = async (name: string, days: number, more: object = {}) =>
    put(
      upstreamVersion,
      { tenancy, name: `host/a/b/${name}` },
      UpstreamVersion.fromPartial({ askedAtMs: BigInt(now - days * DAY_MS), ...more }),
    );
  await version("1.0.0", 29);
  await version("1.1.0", 31);
  await version("1.2.0", 90, { packages: [{ platform: "linux_amd64" }] });
  await version("1.3.0", 90, { quarantinedAtMs: 1n });
  const provider = async (name: string, days: number, quarantined: string[] = []) =>
    put(
      upstreamProvider,
      { tenancy, name },
      UpstreamProvider.fromPartial({ fetchedAtMs: BigInt(now - days * DAY_MS), quarantined }),
    );
  await provider("host/a/b", 29);
  await provider("host/a/old", 31);
  await provider("host/a/bad", 90, ["1.3.0"]);
  const names = async () =>
    (
      await Promise.all(
        [upstreamVersion, upstreamProvider].map(async ({ type }) =>
          (await storage.list("strong", type, tenancy, "")).map(({ id }) => id.name).toSorted(),
        ),
      )
    ).flat();
  expect(await expireUpstream(storage, now, never)).toBe(2);
  const kept = ["host/a/b/1.0.0", "host/a/b/1.2.0", "host/a/b/1.3.0", "host/a/b", "host/a/bad"];
  expect((await names()).toSorted()).toEqual(kept.toSorted());
  await version("1.4.0", 1);
  expect(await expireUpstream(storage, now, never, 1)).toBe(1);
  expect(await names()).not.toContain("host/a/b/1.0.0");
});
