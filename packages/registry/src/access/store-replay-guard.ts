import { createHash } from "node:crypto";
import type { Clock } from "@stackwright/base/clock";
import { UsedSignature } from "@stackwright/proto/stackwright";
import type { ReplayGuard } from "@stackwright/request-signing";
import { isStorageError } from "@stackwright/storage";
import {
  deleteOperation,
  type OnDamagedRecord,
  type RecordStore,
  recordKind,
} from "../domain/record-store.ts";
import { SYSTEM_TENANCY } from "../domain/scope.ts";

const USED = recordKind("UsedSignature", UsedSignature);
const HOUR_MS = 3_600_000;

/**
 * How far the clocks of servers on one store may differ, and a clock may be set back, without a signature
 * being forgotten by the sweep of one while another still accepts it.
 */
const CLOCK_DIFFERENCE_MS = HOUR_MS;

/**
 * Remembers used signatures in the store. Of all requests with one signature, one is accepted: whichever
 * servers on the store receive them, at once or after a restart. Only a store that is restored from a
 * backup forgets what was used since. Costs one write per changing request.
 */
export function createStoreReplayGuard(records: RecordStore): ReplayGuard {
  return {
    async firstUse({ accessKey, signature, expiresAtMs }) {
      const hour = Math.floor(expiresAtMs / HOUR_MS);
      const digest = createHash("sha256").update(`${accessKey}\0${signature}`).digest("hex");
      const at = { kind: USED, tenancy: SYSTEM_TENANCY, name: `${hour}/${digest}` };
      try {
        await records.write(at, { expireTimeMs: BigInt(Math.ceil(expiresAtMs)) }, undefined);
        return true;
      } catch (error) {
        if (isStorageError(error, "STORAGE_CAS_FAILURE", "STORAGE_WRONG_UID")) return false;
        throw error;
      }
    },
  };
}

/** Deletes signatures that no server can still accept. Returns how many. A damaged one goes to `onDamaged`, and stays. */
export async function sweepSignatures(
  records: RecordStore,
  clock: Clock,
  onDamaged?: OnDamagedRecord,
): Promise<number> {
  const nowMs = BigInt(Math.floor(clock.wallMs() - CLOCK_DIFFERENCE_MS));
  const found = await records.list(USED, SYSTEM_TENANCY, "", { onDamaged });
  const old = found.filter(({ value }) => value.expireTimeMs < nowMs);
  for (let at = 0; at < old.length; at += 32) {
    await records.storage.batch(old.slice(at, at + 32).map(deleteOperation));
  }
  return old.length;
}
