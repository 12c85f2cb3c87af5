import assert from "node:assert/strict";
import { setTimeout as delay } from "node:timers/promises";
import type { StorageError } from "../errors.ts";
import { assertCode } from "./assertions.ts";
import type { BlobScenario } from "./describe-blobs.ts";

const QUOTA = 1_000;
const owner = "acme";

/** Content that no other seed or size gives. */
const content = (size: number, seed: number): Uint8Array =>
  Uint8Array.from({ length: size }, (_, index) =>
    index < 4 ? (seed >> (8 * index)) & 255 : index & 255,
  );

/** Registers the cases of the conformance suite about the bytes that the blobs of an account may have. */
export function blobQuotaScenarios(scenario: BlobScenario): void {
  const quota = { ownerQuotaBytes: QUOTA };

  scenario(
    "takes blobs below and at the quota of an account, and refuses what exceeds it",
    async ({ blobs }) => {
      await blobs.write(content(600, 1), { owner });
      await blobs.write(content(399, 2), { owner });
      const error: StorageError = await assertCode(
        blobs.write(content(2, 3), { owner }),
        "STORAGE_QUOTA_EXCEEDED",
      );
      assert.deepEqual(error.details, {
        field: "content",
        owner,
        used: 999,
        limit: QUOTA,
        actual: QUOTA + 1,
      });
      assert.match(error.message, /account "acme".* 999 of 1000 bytes.* has 2;.*(delete|operator)/);
      await blobs.write(content(1, 4), { owner });
      await assertCode(blobs.write(content(1, 5), { owner }), "STORAGE_QUOTA_EXCEEDED");
      assert.equal((await blobs.write(content(0, 6), { owner })).size, 0);
    },
    quota,
  );

  scenario(
    "leaves nothing of a blob that its quota refuses, and other accounts as they are",
    async ({ blobs }) => {
      await blobs.write(content(QUOTA, 1), { owner });
      const refused = content(300, 2);
      await assertCode(blobs.write(refused, { owner }), "STORAGE_QUOTA_EXCEEDED");
      await assertCode(blobs.write(content(QUOTA + 1, 3), { owner }), "STORAGE_QUOTA_EXCEEDED");
      const { sha256 } = await blobs.write(refused, { owner: "other" });
      // The blob exists now, and still does not fit into the quota of the first account.
      await assertCode(blobs.write(refused, { owner }), "STORAGE_QUOTA_EXCEEDED");
      assert.equal((await blobs.find([sha256])).length, 1);
      assert.equal((await blobs.write(content(QUOTA + 1, 4))).size, QUOTA + 1);
    },
    quota,
  );

  scenario(
    "counts a blob once for an account, however often it writes it, and for each account",
    async ({ blobs }) => {
      const shared = content(QUOTA, 1);
      await Promise.all(Array.from({ length: 4 }, () => blobs.write(shared, { owner })));
      await blobs.write(shared, { owner });
      await blobs.write(shared, { owner: "other" });
      for (const one of [owner, "other"]) {
        const error = await assertCode(
          blobs.write(content(1, 2), { owner: one }),
          "STORAGE_QUOTA_EXCEEDED",
        );
        assert.equal(error.details.used, QUOTA);
      }
    },
    quota,
  );

  scenario(
    "lets of two writers at the quota only one succeed",
    async ({ blobs }) => {
      for (let round = 0; round < 10; round += 1) {
        const account = `racer-${round}`;
        await blobs.write(content(400, 100 + round), { owner: account });
        const written = await Promise.allSettled(
          Array.from({ length: 4 }, (_, writer) =>
            blobs.write(content(400, 1_000 + round * 10 + writer), { owner: account }),
          ),
        );
        const refused = written.flatMap((one) => (one.status === "rejected" ? [one.reason] : []));
        assert.deepEqual(
          refused.map(({ code }) => code),
          Array.from({ length: 3 }, () => "STORAGE_QUOTA_EXCEEDED"),
        );
        await blobs.write(content(200, 2_000 + round), { owner: account });
        await assertCode(
          blobs.write(content(1, 3_000 + round), { owner: account }),
          "STORAGE_QUOTA_EXCEEDED",
        );
      }
    },
    quota,
  );

  scenario(
    "frees the quota of every account when a blob is collected",
    async ({ blobs, collect }) => {
      const doomed = content(700, 1);
      const kept = await blobs.write(content(300, 2), { owner });
      await blobs.write(doomed, { owner });
      await blobs.write(doomed, { owner: "other" });
      await assertCode(blobs.write(content(1, 3), { owner }), "STORAGE_QUOTA_EXCEEDED");
      await delay(30);
      assert.equal((await collect({ references: () => [kept.sha256] })).removed, 1);
      await blobs.write(content(700, 4), { owner });
      await blobs.write(content(QUOTA, 5), { owner: "other" });
      const error = await assertCode(
        blobs.write(content(1, 6), { owner }),
        "STORAGE_QUOTA_EXCEEDED",
      );
      assert.equal(error.details.used, QUOTA);
    },
    { ...quota, holdMs: 10 },
  );

  scenario(
    "keeps what an account uses over a restart, also a smaller quota",
    async ({ blobs, harness }) => {
      const written = content(600, 1);
      await blobs.write(written, { owner });
      await blobs.close();
      await using reopened = await harness.open({ ownerQuotaBytes: 500 });
      const error = await assertCode(
        reopened.write(content(1, 2), { owner }),
        "STORAGE_QUOTA_EXCEEDED",
      );
      assert.equal(error.details.used, 600);
      assert.equal(error.details.limit, 500);
    },
    quota,
  );

  scenario("refuses names that no account can have", async ({ blobs }) => {
    for (const wrong of ["", "x".repeat(101), "a\0b", "\ud800"]) {
      await assertCode(blobs.write(content(1, 1), { owner: wrong }), "STORAGE_INVALID_ARGUMENT");
    }
    await blobs.write(content(1, 1), { owner: "../…".repeat(10) });
  });
}
