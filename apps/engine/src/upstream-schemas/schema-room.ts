import type { UpstreamSchema } from "@stackwright/proto/stackwright";

/** Schemas of an account, versions of one provider, and bytes of the blobs of all. */
const LIMITS = { schemas: 500, versions: 100, blobBytes: 256 * 1024 * 1024 };
/** What was handed in so long ago makes room: a run that uses the version hands it in again. */
const KEPT_MS = 90 * 24 * 3_600_000;

/** The schemas that stay beside one more, in the order in which they were handed in; undefined where there is no room for it. */
export function roomFor(
  schemas: readonly UpstreamSchema[],
  { provider, blobBytes }: { readonly provider: string; readonly blobBytes: number },
  nowMs: number,
  limits = LIMITS,
): readonly UpstreamSchema[] | undefined {
  let kept = schemas;
  for (;;) {
    const own = kept.filter((one) => one.provider === provider);
    const isFullOfOwn = own.length >= limits.versions;
    const sum = kept.reduce((all, one) => all + Number(one.blobBytes), blobBytes);
    if (!isFullOfOwn && kept.length < limits.schemas && sum <= limits.blobBytes) return kept;
    const [oldest] = isFullOfOwn ? own : kept;
    if (oldest === undefined || nowMs - Number(oldest.handedInAtMs) < KEPT_MS) return undefined;
    kept = kept.filter((one) => one !== oldest);
  }
}
